//go:build linux

package native

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
)

func TestTheBackendKeepsTheContract(t *testing.T) {
	t.Run("with a zygote", func(t *testing.T) {
		sandboxtest.Run(t, func(t *testing.T, program string) sandbox.Backend {
			return zygoteRequired{t, newTestBackend(t, program)}
		}, sandboxtest.Options{Leftovers: leftovers})
	})
	t.Run("without", func(t *testing.T) {
		sandboxtest.Run(t, func(t *testing.T, program string) sandbox.Backend {
			return newPlainBackend(t, program)
		}, sandboxtest.Options{Leftovers: leftovers})
	})
}

// zygoteRequired fails the test when a sandbox is not forked from a zygote.
type zygoteRequired struct {
	t *testing.T
	*backend
}

func (r zygoteRequired) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Instance, error) {
	i, err := r.backend.Start(ctx, spec)
	if err == nil && !isForked(i) {
		r.t.Error("a sandbox was started without the zygote")
	}
	return i, err
}

func isForked(i sandbox.Instance) bool {
	_, ok := i.(*instance).first.(forkedFirst)
	return ok
}

// leftovers lists cgroups of this process and its child processes.
func leftovers(t *testing.T) []string {
	t.Helper()
	state, err := machineOnce()
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, h := range state.groups {
		groups, err := filepath.Glob(filepath.Join(h.dir, state.owner+".*"))
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, groups...)
	}
	for _, child := range children(t, os.Getpid()) {
		left = append(left, fmt.Sprintf("process %d", child))
	}
	return left
}

// asOrdinaryUser tells a test binary that it was started by the test below.
const asOrdinaryUser = "PTC_MCP_TEST_AS_ORDINARY_USER"

func TestAllHoldsForAnOrdinaryUserToo(t *testing.T) {
	if os.Geteuid() != 0 {
		return // it was shown by the other tests
	}
	// Where such a user can reach it: the go command builds in private folders.
	folder, err := os.MkdirTemp("", "native")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	binary := filepath.Join(folder, "test")
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.timeout=8m"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = "/"
	cmd.Env = []string{asOrdinaryUser + "=1", "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "TMPDIR=" + folder}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if testing.Verbose() || err != nil {
		t.Logf("as user %d:\n%s", nobody, strings.TrimSpace(string(out)))
	}
	if err != nil {
		t.Error(err)
	}
}
