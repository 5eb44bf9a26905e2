//go:build linux

package escape

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/attack"
	"github.com/ptc-mcp/ptc-mcp/internal/cli"
	"github.com/ptc-mcp/ptc-mcp/internal/doctor"
)

// TestUsersCanAttackTheirOwnMachine runs the command that does on a user's
// machine what the other tests do here.
func TestUsersCanAttackTheirOwnMachine(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	write(t, config, "execution:\n  sandbox: native\n  max_memory_bytes: 128MiB\n  max_scratch_bytes: 4MiB\n")
	var out, progress bytes.Buffer
	code := cli.Run(t.Context(), []string{"doctor", "--attack", "--json", "--config", config},
		cli.Streams{In: bytes.NewReader(nil), Out: &out, Err: &progress}, "test")
	var report doctor.AttackReport
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("no report: %v: %s %s", err, out.String(), progress.String())
	}
	if code != 0 || !report.OK || report.Sandbox != "native" {
		t.Errorf("exit code %d, ok %v, sandbox %q", code, report.OK, report.Sandbox)
	}
	for _, result := range report.Attacks {
		if result.Verdict != attack.Contained && result.Verdict != attack.Unclaimed {
			t.Errorf("%s: %s; expected: %s; seen: %s", result.Attack, result.Verdict, result.Expected, result.Seen)
		}
	}
	if want := len(attack.All()); len(report.Attacks) != want || bytes.Count(progress.Bytes(), []byte("\n")) != want {
		t.Errorf("%d attacks and progress of %d lines, want %d of each", len(report.Attacks), bytes.Count(progress.Bytes(), []byte("\n")), want)
	}
}
