package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// maxProgramBytes bounds a program; the channel takes no larger one.
const maxProgramBytes = 8 << 20

type runOptions struct {
	common
	profiles
	file    string
	json    bool
	trace   string
	timeout secondsFlag
}

func newRun(streams Streams, version string) *cobra.Command {
	var options runOptions
	cmd := &cobra.Command{
		Use:   "run FILE|-",
		Short: "Run a program once, and print what it prints",
		Long: `Runs a Python program from a file, or from standard input, as the client of
ptc-mcp serve would. What it prints goes to standard output as it comes; a
summary of its tool calls goes to standard error.

Exit codes: 0 success, 1 the program failed, 2 bad usage or configuration,
3 no usable sandbox, 4 a server that was needed could not be reached,
130 interrupted.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			options.file = args[0]
			return run(cmd.Context(), streams, version, options)
		},
	}
	options.common.register(cmd, "warn")
	options.profiles.register(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&options.json, "json", false, "print one JSON object instead of the output")
	flags.StringVar(&options.trace, "trace", "", "summary of the tool calls instead of the configured one: summary, off")
	flags.Var(&options.timeout, "timeout", "end the program after this `time` instead of the configured one, such as 90 or 1m30s")
	return cmd
}

func run(ctx context.Context, streams Streams, version string, options runOptions) error {
	logger, err := options.logger(streams.Err)
	if err != nil {
		return err
	}
	cfg, _, err := options.load()
	if err != nil {
		return err
	}
	switch options.trace {
	case "":
	case "summary", "off":
		cfg.Execution.Trace = options.trace
	default:
		return usageErrorf("--trace %s: no such trace; use summary or off", options.trace)
	}
	if options.timeout > 0 {
		cfg.Execution.TimeoutSeconds = time.Duration(options.timeout).Seconds()
	}
	source, err := readProgram(options.file, streams.In)
	if err != nil {
		return err
	}
	stop, err := options.start(logger)
	if err != nil {
		return err
	}
	defer stop()

	a, err := assemble(cfg, version, logger)
	if err != nil {
		return err
	}
	a.connect()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request := executor.Request{Source: source, Filename: programName(options.file)}
	if !options.json {
		request.Output = &liveWriter{w: streams.Out, onError: cancel}
	}
	request.Tools = a.registry.Prepare(ctx, source)
	outcome := a.executor.Run(ctx, request)
	servers := a.registry.Servers()
	closeErr := a.close()

	if err := report(streams, options.json, cfg.Execution.Trace, cfg.Execution.MaxOutputBytes, outcome); err != nil {
		return err
	}
	if closeErr != nil {
		logger.Warn("not everything has ended", "error", closeErr)
	}
	return ending(ctx, outcome, source, servers)
}

// readProgram reads the file, or standard input for "-".
func readProgram(file string, stdin io.Reader) (string, error) {
	source := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", usageErrorf("program: %w", err)
		}
		defer func() { _ = f.Close() }()
		source = f
	}
	data, err := io.ReadAll(io.LimitReader(source, maxProgramBytes+1))
	if err != nil {
		return "", usageErrorf("program: %w", err)
	}
	if len(data) > maxProgramBytes {
		return "", usageErrorf("program: %s is larger than %d MiB; pass data through tools rather than in the source", file, maxProgramBytes>>20)
	}
	return string(data), nil
}

// programName is how tracebacks name the program.
func programName(file string) string {
	if file == "-" {
		return ""
	}
	return filepath.Base(file)
}

// liveWriter passes the program's output on, and ends the run when nobody reads
// it any more.
type liveWriter struct {
	w       io.Writer
	onError context.CancelCauseFunc
}

func (l *liveWriter) Write(p []byte) (int, error) {
	n, err := l.w.Write(p)
	if err != nil {
		l.onError(fmt.Errorf("standard output: %w", err))
	}
	return n, err
}

// report writes what is left to say when the program has ended: its result to
// standard output, the rest to standard error.
func report(streams Streams, asJSON bool, trace string, maxBytes int, outcome *executor.Outcome) error {
	if asJSON {
		encoder := json.NewEncoder(streams.Out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(outcome.Structured(maxBytes))
	}
	if outcome.Result != nil {
		if _, err := fmt.Fprintf(streams.Out, "%s\n", outcome.Result); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
	}
	style := newStyle(streams.Err)
	if !outcome.OK {
		fmt.Fprintf(streams.Err, "ptc-mcp: %s\n%s\n", style.fail("the program failed"), strings.TrimRight(outcome.Error.Message, "\n"))
	}
	if trace == executor.TraceSummary {
		fmt.Fprint(streams.Err, style.dim(summary(outcome)))
	}
	return nil
}

// ending is the error, and so the exit code, that an outcome stands for.
func ending(ctx context.Context, outcome *executor.Outcome, source string, servers []tool.Server) error {
	if outcome.OK {
		return nil
	}
	kind := outcome.Error.Kind
	if kind == executor.FailSandbox {
		return &exitError{code: exitSandbox}
	}
	if kind == executor.FailCancelled {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			return cause
		}
		return &exitError{code: exitInterrupted}
	}
	if missing := missingServers(outcome, source, servers); len(missing) > 0 {
		return &exitError{exitServer, fmt.Errorf("not connected: %s", strings.Join(missing, "; "))}
	}
	return &exitError{code: exitProgram}
}

// missingServers are the servers that the failed program needed and that were
// not there, each with the reason.
func missingServers(outcome *executor.Outcome, source string, servers []tool.Server) []string {
	lost := outcome.Error.Kind == executor.FailCheck
	for _, c := range outcome.Calls {
		lost = lost || c.Kind == tool.KindConnection
	}
	if !lost {
		return nil
	}
	var missing []string
	for _, s := range servers {
		if s.Connected || !strings.Contains(source, s.Name) {
			continue
		}
		reason := s.Error
		if reason == "" {
			reason = "still connecting"
		}
		missing = append(missing, s.Name+" ("+reason+")")
	}
	return missing
}
