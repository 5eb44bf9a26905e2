package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

type toolsShowOptions struct {
	common
	name         string
	python, json bool
}

func newToolsShow(streams Streams, version string) *cobra.Command {
	var options toolsShowOptions
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one tool in full",
		Long: `Shows a tool's description and schemas, or the Python that its calls are typed
by. The name may be the callable one, or the server's and the tool's as the
server writes them, such as github.list-issues.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if options.python && options.json {
				return usageErrorf("--python and --json exclude each other")
			}
			options.name = args[0]
			return showTool(cmd.Context(), streams, version, options)
		},
	}
	options.registerConnecting(cmd, "error")
	flags := cmd.Flags()
	flags.BoolVar(&options.python, "python", false, "show typed Python")
	flags.BoolVar(&options.json, "json", false, "show it on one line, for scripts")
	return cmd
}

func showTool(ctx context.Context, streams Streams, version string, options toolsShowOptions) error {
	return withCatalogue(ctx, streams, version, options.common, func(a *app) error {
		if err := a.awaitTool(ctx, streams, options.name); err != nil {
			return err
		}
		var text bytes.Buffer
		if options.python {
			stub, err := a.registry.Stub(options.name)
			if err != nil {
				return a.toolError(err)
			}
			text.WriteString(stub)
		} else {
			description, err := a.registry.Inspect(options.name)
			if err == nil && options.json {
				err = json.Compact(&text, description)
			} else if err == nil {
				err = json.Indent(&text, description, "", "  ")
			}
			if err != nil {
				return a.toolError(err)
			}
			text.WriteByte('\n')
		}
		if _, err := streams.Out.Write(text.Bytes()); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		return nil
	})
}
