//go:build linux

package escape

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is an ordinary user: it owns nothing and has no rights.
const nobody = 65534

// TestAnOrdinaryUserIsSafeToo runs the tests of this package that need no
// engine again, as an ordinary user: namespaces are then made, and limits set,
// by other means.
func TestAnOrdinaryUserIsSafeToo(t *testing.T) {
	if os.Geteuid() != 0 {
		return // the other tests were run by one
	}
	t.Parallel()
	binary := binaryForAll(t)
	command := exec.CommandContext(t.Context(), binary, "-test.v", "-test.timeout=8m",
		"-test.run=^TestEveryAttackWorksWithoutASandbox$|^TestNoAttackEscapes$/^native$")
	command.Dir = "/"
	command.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "TMPDIR=" + filepath.Dir(binary), allAttacks + "=" + os.Getenv(allAttacks)}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := command.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if err != nil || strings.Contains(line, "not claimed") || strings.Contains(line, "namespaces,") {
			t.Log(strings.TrimSpace(line))
		}
	}
	if err != nil {
		t.Errorf("as user %d: %v", nobody, err)
	}
	if !strings.Contains(string(out), "--- PASS: TestNoAttackEscapes/native/forked/ptrace") {
		t.Errorf("as user %d: the attacks were not made", nobody)
	}
}

// binaryForAll copies this test binary into a folder that every user can enter
// and write to: the go command builds in private ones.
func binaryForAll(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "escape-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(folder, "escape.test")
	if err := os.WriteFile(binary, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	return binary
}
