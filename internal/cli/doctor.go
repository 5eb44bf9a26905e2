package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ptc-mcp/ptc-mcp/internal/doctor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

type doctorOptions struct {
	common
	json, attack bool
}

func newDoctor(streams Streams, version string) *cobra.Command {
	var options doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the configuration, the sandbox and each server",
		Long: `Checks the configuration, which sandboxes work here, that a program in the one
in use is contained (by a real run that tries to get out), and each server.
Every finding comes with its remedy.

With --attack, hostile programs are run in the sandbox instead, with the
configured limits, and a table shows what each wanted and what it got. They do
no harm where they succeed, and take about half a minute.

Exit codes: 0 all is well, 2 bad configuration, 3 no usable sandbox or one that
did not contain an attack, 4 a server could not be reached.`,
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.attack {
				return diagnoseByAttack(cmd.Context(), streams, version, options)
			}
			return diagnose(cmd.Context(), streams, version, options)
		},
	}
	options.register(cmd, "error")
	cmd.Flags().BoolVar(&options.attack, "attack", false, "run hostile programs in the sandbox, and show what became of each")
	cmd.Flags().BoolVar(&options.json, "json", false, "print one JSON object instead of the table")
	return cmd
}

func diagnose(ctx context.Context, streams Streams, version string, options doctorOptions) error {
	logger, err := options.logger(streams.Err)
	if err != nil {
		return err
	}
	subject := doctor.Subject{Version: version, Logger: logger}
	subject.Config, subject.ConfigPath, subject.ConfigError = options.load()
	var a *app
	if subject.ConfigError == nil {
		a, subject.ConfigError = assemble(subject.Config, version, logger)
	}
	if a != nil {
		subject.Config = a.config
		if a.imports != nil {
			subject.Imports = a.imports.latest.Load()
		}
		subject.Backends = a.backends
		subject.NewRunner = func(b sandbox.Backend) doctor.Runner { return a.newExecutor(b) }
		subject.Callable = func() []tool.Server {
			// A server that has just connected may not have reached the
			// catalogue yet; preparing a run brings it up to date.
			a.registry.Prepare(ctx, "")
			return a.registry.Servers()
		}
		subject.Account = a.account
		for _, s := range a.sessions.all() {
			subject.Sessions = append(subject.Sessions, s)
		}
		a.connect()
	}
	result := doctor.Examine(ctx, subject)
	if a != nil {
		if err := a.close(); err != nil {
			logger.Warn("not everything has ended", "error", err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if options.json {
		err = printJSON(streams.Out, result)
	} else {
		err = printReport(streams.Out, result)
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	switch {
	case result.Failed(doctor.AreaConfiguration):
		return &exitError{code: exitUsage}
	case result.Failed(doctor.AreaSandbox), result.Failed(doctor.AreaIsolation):
		return &exitError{code: exitSandbox}
	case result.Failed(doctor.AreaServers):
		return &exitError{code: exitServer}
	}
	return nil
}

// printJSON writes a report for scripts, laid out so that a person can read it.
func printJSON(w io.Writer, report any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

// printReport writes the findings as a table, a remedy below what it is for.
func printReport(w io.Writer, report *doctor.Report) error {
	s := newStyle(w)
	width := 0
	for _, f := range report.Findings {
		width = max(width, len(f.Check))
	}
	out := &errWriter{w: w}
	out.printf("%s %s\n", s.bold("ptc-mcp"), report.Version)
	var area doctor.Area
	counts := make(map[doctor.Status]int)
	for _, f := range report.Findings {
		if f.Area != area {
			area = f.Area
			out.printf("\n%s\n", s.bold(string(area)))
		}
		counts[f.Status]++
		out.printf("  %s  %-*s  %s\n", mark(s, f.Status), width, f.Check, f.Detail)
		if f.Remedy != "" && f.Status != doctor.OK {
			out.printf("  %s  %-*s  %s %s\n", "    ", width, "", s.dim("→"), f.Remedy)
		}
	}
	out.printf("\n%d ok, %s, %d failed\n", counts[doctor.OK], plural(counts[doctor.Warn], "warning"), counts[doctor.Fail])
	return out.err
}

func mark(s style, status doctor.Status) string {
	switch status {
	case doctor.OK:
		return s.ok("ok  ")
	case doctor.Warn:
		return s.warn("warn")
	case doctor.Fail:
		return s.fail("fail")
	}
	return string(status)
}

// errWriter keeps the first error of many writes.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) printf(format string, args ...any) {
	if e.err == nil {
		_, e.err = fmt.Fprintf(e.w, format, args...)
	}
}
