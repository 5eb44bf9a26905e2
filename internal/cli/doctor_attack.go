package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ptc-mcp/ptc-mcp/internal/attack"
	"github.com/ptc-mcp/ptc-mcp/internal/doctor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// diagnoseByAttack runs the packaged hostile programs. The configured servers
// are not started: no attack has a tool to call.
func diagnoseByAttack(ctx context.Context, streams Streams, version string, options doctorOptions) error {
	logger, err := options.logger(streams.Err)
	if err != nil {
		return err
	}
	cfg, path, err := options.load()
	if err != nil {
		return err
	}
	a, err := assemble(cfg, version, logger)
	if err != nil {
		return err
	}
	subject := doctor.Subject{
		Version: version, Config: cfg, ConfigPath: path, Logger: logger,
		Backends:  a.backends,
		NewRunner: func(b sandbox.Backend) doctor.Runner { return a.newExecutor(b) },
	}
	report, err := doctor.Attack(ctx, subject, func(done, all int, result attack.Result) {
		fmt.Fprintf(streams.Err, "%d of %d: %s: %s\n", done, all, result.Attack, result.Verdict)
	})
	if closeErr := a.close(); closeErr != nil {
		logger.Warn("not everything has ended", "error", closeErr)
	}
	if err != nil {
		return err
	}
	if options.json {
		err = printJSON(streams.Out, report)
	} else {
		err = printAttacks(streams.Out, report)
	}
	switch {
	case err != nil:
		return fmt.Errorf("standard output: %w", err)
	case !report.OK:
		return &exitError{exitSandbox, errors.New("not every attack was contained: do not run programs you do not trust in this sandbox")}
	}
	return nil
}

// seenWidth bounds the last column of what is as it should be.
const seenWidth = 72

// printAttacks writes a table: attack, expected, seen.
func printAttacks(w io.Writer, report *doctor.AttackReport) error {
	s := newStyle(w)
	names, expectations := len("attack"), len("expected")
	for _, r := range report.Attacks {
		names, expectations = max(names, len(r.Attack)), max(expectations, len(r.Expected))
	}
	out := &errWriter{w: w}
	out.printf("%s %s, %s: %s\n\n", s.bold("ptc-mcp"), report.Version, report.Sandbox, report.Detail)
	out.printf("  %s  %-*s  %-*s  %s\n", "     ", names, "attack", expectations, "expected", "seen")
	counts := map[attack.Verdict]int{}
	for _, r := range report.Attacks {
		counts[r.Verdict]++
		seen := r.Seen
		if runes := []rune(seen); r.Verdict == attack.Contained && len(runes) > seenWidth {
			seen = string(runes[:seenWidth]) + "…"
		}
		out.printf("  %s  %-*s  %-*s  %s\n", attackMark(s, r.Verdict), names, r.Attack, expectations, r.Expected, seen)
	}
	out.printf("\n%d of %d contained", counts[attack.Contained], len(report.Attacks))
	if n := counts[attack.Unclaimed]; n > 0 {
		out.printf(", %d that this sandbox is known not to stop here", n)
	}
	out.printf(", %d FAILED, in %.0f s\n", counts[attack.Escaped]+counts[attack.Unclear], report.Seconds)
	return out.err
}

func attackMark(s style, verdict attack.Verdict) string {
	switch verdict {
	case attack.Contained:
		return s.ok("ok   ")
	case attack.Unclaimed:
		return s.warn("known")
	case attack.Escaped, attack.Unclear:
		return s.fail("FAIL ")
	}
	return string(verdict)
}
