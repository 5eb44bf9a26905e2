package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// maxArgumentBytes bounds the arguments of a call.
const maxArgumentBytes = 64 << 20

type toolsCallOptions struct {
	common
	name, arguments string
	json            bool
	timeout         secondsFlag
}

func newToolsCall(streams Streams, version string) *cobra.Command {
	var options toolsCallOptions
	cmd := &cobra.Command{
		Use:   "call NAME [JSON|-]",
		Short: "Call one tool, and print its value",
		Long: `Calls a tool with the arguments in a JSON object, or in one on standard input for
"-", and prints the value a program would get: text as it is, all else as JSON.`,
		Example: `  ptc-mcp tools call github.list-issues '{"repo": "api"}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usageErrorf("%d arguments given; the usage is: %s", len(args), cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			options.name, options.arguments = args[0], "{}"
			if len(args) == 2 {
				options.arguments = args[1]
			}
			return callTool(cmd.Context(), streams, version, options)
		},
	}
	options.registerConnecting(cmd, "error")
	flags := cmd.Flags()
	flags.BoolVar(&options.json, "json", false, "print the value as JSON on one line, text too")
	flags.Var(&options.timeout, "timeout", "give up after this `time` instead of the configured one, such as 90 or 1m30s")
	return cmd
}

func callTool(ctx context.Context, streams Streams, version string, options toolsCallOptions) error {
	arguments, err := readCallArguments(options.arguments, streams.In)
	if err != nil {
		return err
	}
	return withCatalogue(ctx, streams, version, options.common, func(a *app) error {
		if err := a.awaitTool(ctx, streams, options.name); err != nil {
			return err
		}
		called, err := a.registry.PyTool(options.name)
		if err != nil {
			return a.toolError(err)
		}
		timeout := seconds(a.config.Execution.ToolCallTimeoutSeconds)
		if options.timeout > 0 {
			timeout = time.Duration(options.timeout)
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		value, err := a.registry.CallTool(ctx, called.Callable, arguments)
		if err != nil {
			return a.toolError(err)
		}
		if err := printValue(streams.Out, value, options.json); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		return nil
	})
}

// readCallArguments returns a JSON object, from standard input for "-".
func readCallArguments(text string, stdin io.Reader) (json.RawMessage, error) {
	raw := []byte(text)
	if text == "-" {
		var err error
		if raw, err = io.ReadAll(io.LimitReader(stdin, maxArgumentBytes+1)); err != nil {
			return nil, usageErrorf("arguments: %w", err)
		}
		if len(raw) > maxArgumentBytes {
			return nil, usageErrorf("arguments: more than %d MiB", maxArgumentBytes>>20)
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, usageErrorf(`arguments: not a JSON object such as {"path": "a.txt"}: %s`, cause(err))
	}
	return raw, nil
}

func cause(err error) string {
	if err == nil {
		return "null"
	}
	return err.Error()
}

// printValue writes text as it is and other values as JSON that a person can
// read, or any value on one line.
func printValue(w io.Writer, value json.RawMessage, oneLine bool) error {
	var text string
	var out bytes.Buffer
	switch {
	case oneLine:
		if err := json.Compact(&out, value); err != nil {
			return err
		}
	case json.Unmarshal(value, &text) == nil && len(value) > 0 && value[0] == '"':
		out.WriteString(text)
	default:
		if err := json.Indent(&out, value, "", "  "); err != nil {
			return err
		}
	}
	if !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		out.WriteByte('\n')
	}
	_, err := w.Write(out.Bytes())
	return err
}
