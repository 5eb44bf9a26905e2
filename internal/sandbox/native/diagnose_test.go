//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

func TestErrorsNameTheSwitchThatIsClosed(t *testing.T) {
	const status = "Name:\tx\nSeccomp:\t2\n"
	cases := []struct {
		name  string
		files map[string]string
		root  bool
		errno syscall.Errno
		want  string
	}{
		{"user namespaces off", map[string]string{"proc/sys/user/max_user_namespaces": "0\n"}, true, syscall.ENOSPC, "sysctl -w user.max_user_namespaces="},
		{"only for ordinary users", map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "0\n"}, false, syscall.EPERM, "kernel.unprivileged_userns_clone=1"},
		{"but not for root", map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "0\n"}, true, syscall.EPERM, "outer container"},
		{"AppArmor", map[string]string{"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}, false, syscall.EACCES, "AppArmor"},
		{"open switches are not blamed", map[string]string{"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "0\n", "proc/self/status": status}, false, syscall.EPERM, "seccomp=unconfined"},
		{"too many", nil, true, syscall.ENOSPC, "limit of namespaces"},
		{"old kernel", nil, true, syscall.ENOSYS, "Linux 5.14"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for path, text := range c.files {
				root[path] = &fstest.MapFile{Data: []byte(text)}
			}
			err := explain(root, c.root, failedStep("mount", c.errno))
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q does not say %q", err, c.want)
			}
			for _, target := range []error{sandbox.ErrUnavailable, errForbidden, c.errno} {
				if !errors.Is(err, target) {
					t.Errorf("%q is no %q", err, target)
				}
			}
		})
	}
}

func TestOldKernelsAreRefused(t *testing.T) {
	for release, ok := range map[string]bool{
		"5.13.0-52-generic": false, "4.18.0-553.el8": false, "5.14.0-427.el9": true, "6.18.44": true, "10.0": true, "?": false,
	} {
		err := checkKernel(release)
		if (err == nil) != ok || err != nil && !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("%s: got %v", release, err)
		}
	}
}

func TestOtherErrorsAreNotBlamedOnTheMachine(t *testing.T) {
	err := explain(fstest.MapFS{}, true, fmt.Errorf("start /usr/bin/python3: exec format error"))
	if errors.Is(err, errForbidden) || !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// barred tells a test binary to close one way to namespaces for itself, and to
// say how Probe explains it.
const barred = "PTC_MCP_TEST_BARRED"

func runBarred(how string) int {
	switch how {
	case "overlay":
		if err := probeOnOverlays(); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	case "sysctl":
		// Counts for the user namespace this process is in.
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			fmt.Println(err)
			return 1
		}
	case "filter":
		filter, err := compileFilter(runtime.GOARCH)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		// What Go's runtime waits by cannot be made later.
		if _, err := os.Open(os.DevNull); err != nil {
			fmt.Println(err)
			return 1
		}
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			fmt.Println(err)
			return 1
		}
		if err := loadFilter(filter); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	b := newBackend("/usr/bin/python3", slog.New(slog.DiscardHandler))
	_, err := b.Probe(context.Background())
	fmt.Println(errors.Is(err, sandbox.ErrUnavailable), err)
	return 0
}

func TestProbeNamesWhatReallyBarsIt(t *testing.T) {
	for how, want := range map[string]string{
		"sysctl": "user.max_user_namespaces = 0",
		"filter": "system call filter",
	} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
			cmd.Env = append(os.Environ(), barred+"="+how)
			if how == "sysctl" {
				cmd.SysProcAttr = &syscall.SysProcAttr{
					Cloneflags:  syscall.CLONE_NEWUSER,
					UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
					GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
				}
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if text := string(out); !strings.HasPrefix(text, "true ") || !strings.Contains(text, want) {
				t.Errorf("Probe says %q, want unavailable because of %q", text, want)
			}
		})
	}
}
