package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// probeTimeout bounds the look at one backend, and selectTimeout the choice
// among them all.
const (
	probeTimeout  = 10 * time.Second
	selectTimeout = 20 * time.Second
)

// examineSandbox returns the name of the backend in use, "" if there is none,
// and the findings about all of them and about isolation in that one.
func examineSandbox(ctx context.Context, s Subject) (string, []Finding) {
	selectCtx, cancel := context.WithTimeout(ctx, selectTimeout)
	defer cancel()
	want := s.Config.Execution.Sandbox
	chosen, capabilities, reason, err := sandbox.Select(selectCtx, want, s.Backends)

	var findings []Finding
	failed := false
	for _, b := range s.Backends {
		name := b.Name()
		switch {
		case chosen != nil && name == chosen.Name():
			findings = append(findings, inUse(name, capabilities, reason))
		case name == sandbox.None && want != sandbox.None:
			// It always works, and is nobody's goal.
		default:
			f := other(ctx, b)
			if f.Status != OK && err != nil && (want == name || want == sandbox.Auto) {
				f.Status, failed = Fail, true
			}
			findings = append(findings, f)
		}
	}
	if err != nil {
		if !failed {
			detail, remedy := unavailable("sandbox", err)
			findings = append(findings, Finding{Area: AreaSandbox, Check: want, Status: Fail, Detail: detail, Remedy: remedy})
		}
		return "", findings
	}
	if capabilities.Isolated {
		for _, w := range capabilities.Warnings {
			detail, remedy := divide(w, "; ", ". ", ": ")
			findings = append(findings, Finding{Area: AreaSandbox, Check: chosen.Name(), Status: Warn, Detail: detail, Remedy: remedy})
		}
	}
	return chosen.Name(), append(findings, examineIsolation(ctx, s, chosen, capabilities)...)
}

// inUse is the finding about the chosen backend.
func inUse(name string, c sandbox.Capabilities, reason string) Finding {
	f := Finding{Area: AreaSandbox, Check: name, Status: OK, Detail: "in use: " + c.Description}
	// What was passed over, and why, has findings of its own.
	if _, _, passed := strings.Cut(reason, ", because: "); passed {
		reason = "the first that works here"
	}
	if reason != "" {
		f.Detail += " (" + reason + ")"
	}
	if !c.Isolated {
		f.Status = Warn
		f.Remedy = "programs are not contained: set execution.sandbox to auto unless you trust every program as you trust yourself"
		return f
	}
	var missing []string
	for _, limit := range []struct {
		enforced bool
		name     string
	}{{c.Memory, "memory"}, {c.CPUs, "CPUs"}, {c.Processes, "processes"}, {c.Scratch, "scratch space"}} {
		if !limit.enforced {
			missing = append(missing, limit.name)
		}
	}
	if len(missing) > 0 {
		f.Status = Warn
		f.Detail += "; not limited as a whole: " + strings.Join(missing, ", ")
		f.Remedy = "use the docker sandbox where these limits matter"
	}
	return f
}

// other is the finding about a backend that is not in use.
func other(ctx context.Context, b sandbox.Backend) Finding {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c, err := b.Probe(ctx)
	f := Finding{Area: AreaSandbox, Check: b.Name(), Status: OK, Detail: "available: " + c.Description}
	if err != nil {
		f.Status = Warn
		f.Detail, f.Remedy = unavailable(b.Name(), err)
	}
	return f
}

// unavailable says why a backend is, and what to do about it.
func unavailable(name string, err error) (detail, remedy string) {
	if errors.Is(err, context.DeadlineExceeded) {
		return err.Error(), "it does not answer in time; look at its own log, or restart it"
	}
	return divide(strings.TrimPrefix(bare(err.Error()), name+": "), "; ")
}

// bare leaves out the words of the sentinel: a finding says them by its status.
func bare(text string) string {
	words := sandbox.ErrUnavailable.Error()
	return strings.TrimPrefix(strings.TrimSuffix(text, ": "+words), words+": ")
}

// divide splits the first line of a text of a backend where it goes on to say
// what to do: after the first of the separators that it has outside brackets.
func divide(text string, separators ...string) (detail, remedy string) {
	text, _, _ = strings.Cut(text, "\n")
	for _, separator := range separators {
		for from := 0; ; {
			i := strings.Index(text[from:], separator)
			if i < 0 {
				break
			}
			i += from
			if before := text[:i]; strings.Count(before, "(") == strings.Count(before, ")") {
				return before, text[i+len(separator):]
			}
			from = i + len(separator)
		}
	}
	return text, "start a Docker engine, or set execution.sandbox to a backend that works here"
}
