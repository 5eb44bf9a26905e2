//go:build linux

package escape

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/attack"
)

// TestEveryAttackWorksWithoutASandbox shows that what is contained elsewhere
// is not merely impossible: on this machine, as this user, each attempt
// succeeds, save those that the table of absences explains.
func TestEveryAttackWorksWithoutASandbox(t *testing.T) {
	bait := lay(t, limits())
	for _, a := range attack.All() {
		if a.Outside != "" {
			continue // the file says why
		}
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			for _, account := range outside(t, a, bait) {
				if len(account.Attempts) == 0 {
					t.Error("nothing was tried")
				}
				for _, tried := range account.Attempts {
					judgeOutside(t, a, tried)
				}
			}
		})
	}
}

func judgeOutside(t *testing.T, a attack.Attack, tried attack.Attempt) {
	t.Helper()
	absent := absences[a.Name+": "+tried.What]
	switch {
	case tried.Root && os.Geteuid() != 0:
		// It is shown by root's run of this test.
	case tried.Succeeded:
	case absent == nil:
		t.Errorf("%s does not even work without a sandbox: %s", tried.What, tried.Detail)
	default:
		if why := absent(); why == nil {
			t.Errorf("%s does not work without a sandbox (%s), although this kernel has it", tried.What, tried.Detail)
		}
	}
}

// outside runs an attack as an ordinary process, as root in mount and host name
// spaces of its own, and returns its account; two of a pair.
func outside(t *testing.T, a attack.Attack, bait *attack.Bait) []attack.Account {
	t.Helper()
	roles := 1
	if a.Pair {
		roles = 2
	}
	outputs := make([]string, roles)
	var wg sync.WaitGroup
	for role := range roles {
		source, err := a.Source(bait, role, false)
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		wg.Go(func() { outputs[role] = python(t, folder, source) })
	}
	wg.Wait()
	var accounts []attack.Account
	for _, output := range outputs {
		account, ok := a.Read(output)
		if !ok {
			t.Fatalf("no account without a sandbox: %s", output)
		}
		accounts = append(accounts, account)
	}
	return accounts
}

func python(t *testing.T, folder, source string) string {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, "python3", "-I", "-S", "-B", "-c", source)
	command.Dir = folder
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		command.SysProcAttr.Unshareflags = unix.CLONE_NEWNS | unix.CLONE_NEWUTS
	}
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		t.Errorf("python without a sandbox: %v", err)
	}
	return output.String()
}

// denials are the errors by which a sandbox refuses what could not be shown to
// work outside. Any other could mean that only the arguments were wrong.
var denials = []string{"EPERM", "EACCES", "ENOSYS", "EAFNOSUPPORT", "ENOENT", "ESRCH", "ABSENT"}

// judgeInside holds an attempt that this kernel cannot make at all to the
// errors of a refusal.
func judgeInside(t *testing.T, a attack.Attack, tried attack.Attempt) {
	t.Helper()
	if absences[a.Name+": "+tried.What] == nil || tried.Succeeded {
		return
	}
	killed := strings.Contains(tried.Detail, "ended by signal")
	if !killed && !slices.Contains(denials, tried.Errno) {
		t.Errorf("%s was not refused but failed: %s", tried.What, tried.Detail)
	}
}
