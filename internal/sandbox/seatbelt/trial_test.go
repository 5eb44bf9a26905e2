//go:build unix

package seatbelt

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// The stand-in contains nothing, so this also shows that the attempts of the
// trial succeed outside of a sandbox.
func TestASandboxExecThatContainsNothingIsRefused(t *testing.T) {
	if onMac {
		return // the real one contains; TestTheBackendKeepsTheContract shows it
	}
	b := newBackend(Config{})
	standInFor(t, b)
	b.trial = trial
	_, err := b.Probe(t.Context())
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "; use docker") {
		t.Fatalf("got %v", err)
	}
	attempts := 0
	for line := range strings.Lines(trial) {
		what, ok := strings.CutPrefix(line, `forbidden("`)
		if !ok {
			continue
		}
		attempts++
		what, _, _ = strings.Cut(what, `"`)
		if strings.Contains(what, "its interpreter") && os.Geteuid() != 0 {
			continue // it belongs to root
		}
		if !strings.Contains(err.Error(), what) {
			t.Errorf("it does not say that a program %s: %v", what, err)
		}
	}
	if attempts < 10 {
		t.Errorf("only %d attempts were found in the trial", attempts)
	}
}

func TestVerdicts(t *testing.T) {
	exited := sandbox.ExitStatus{Reason: sandbox.Exited}
	for _, c := range []struct {
		name               string
		status             sandbox.ExitStatus
		printed, complaint string
		says               string // empty: it passes
		final              bool   // no other interpreter would do better
	}{
		{"all was refused", exited, "done\n", "", "", false},
		{"something succeeded", exited, "forks\ndone\n", "", "a program in it forks", true},
		{"another program was started", exited, "starts other programs\n", "", "starts other programs", true},
		{"it ended early without a word", exited, "", "", "does not work", false},
		{"the loader gave up", sandbox.ExitStatus{Reason: sandbox.Signalled, Code: -1, Signal: "SIGABRT"}, "", "dyld: cannot find it", "SIGABRT: dyld: cannot find it", false},
		{"a module is missing", sandbox.ExitStatus{Reason: sandbox.Exited, Code: 1}, "", "Traceback\nImportError: no asyncio\n", "ImportError: no asyncio", false},
		{"ptc-mcp runs in a sandbox itself", sandbox.ExitStatus{Reason: sandbox.Exited, Code: 71}, "", "sandbox-exec: sandbox_apply: Operation not permitted\n", "runs in one itself", true},
	} {
		err := verdict(c.status, c.printed, c.complaint)
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: got %v", c.name, err)
			}
			continue
		}
		var final *notHereError
		if err == nil || !strings.Contains(err.Error(), c.says) || errors.As(err, &final) != c.final {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}
