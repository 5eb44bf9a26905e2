//go:build linux

package native

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// holder locks a module of the library and the null device, and waits; looker
// says which of the two somebody else has locked.
const (
	holder = `
import fcntl, os
fds = [os.open(path, os.O_RDONLY) for path in (os.__file__, "/dev/null")]
for fd in fds:
    fcntl.flock(fd, fcntl.LOCK_EX)
os.write(1, b"held")
os.read(0, 1)
`
	looker = `
import fcntl, os
for name, path in (("file", os.__file__), ("device", "/dev/null")):
    try:
        fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(name)
`
)

func TestLocksAreNoSignalsBetweenSandboxes(t *testing.T) {
	own, err := machineOnce()
	if err != nil {
		t.Fatal(err)
	}
	shared := *own
	shared.ownDevices = false
	if err := shared.lay(own.python); err != nil {
		t.Fatal(err)
	}
	shared.layout.share(nil)

	wantOwn := ""
	if !own.ownDevices {
		wantOwn = "device\n" // as Capabilities say
	}
	for name, c := range map[string]struct {
		state *machineState
		want  string
	}{
		"each has files of its own":               {own, wantOwn},
		"which the locks show where it is not so": {&shared, "file\ndevice\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackend("", slog.New(slog.DiscardHandler))
			t.Cleanup(func() { _ = b.Close() })
			run := func(program string) *instance {
				argv := []string{c.state.python.Executable, "-I", "-S", "-B", "-c", program}
				i, err := b.launch(t.Context(), c.state, withDefaults(sandbox.Spec{}), argv)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = i.Close() })
				return i
			}
			if _, err := io.ReadFull(run(holder).Channel(), make([]byte, len("held"))); err != nil {
				t.Fatal(err)
			}
			if got := readAll(t, run(looker)); got != c.want {
				t.Errorf("another sandbox's locks are seen on %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheHostsLocksAreNotSeenInside(t *testing.T) {
	module := strings.TrimSpace(outside(t, "import os\nprint(os.__file__)"))
	file, err := os.Open(module)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	out, problems, _ := inside(t, looker, sandbox.Spec{})
	if strings.Contains(out, "file") || problems != "" {
		t.Errorf("%s is seen to be locked: %q %s", module, out, problems)
	}
}

// TestWithoutOverlaysProbeSaysSo has a file system in which none can be made:
// the kernel lays them two deep.
func TestWithoutOverlaysProbeSaysSo(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), barred+"=overlay", "PTC_MCP_TEST_EMPTY="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if text := string(out); !strings.HasPrefix(text, "false <nil>") || !strings.Contains(text, "refuses: invalid argument") {
		t.Errorf("Probe says %q, want shared files and a warning", text)
	}
}

// probeOnOverlays lays two overlays over /usr and says what Probe makes of it.
func probeOnOverlays() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for range 2 {
		if err := unix.Mount("overlay", "/usr", "overlay", unix.MS_RDONLY, "userxattr,lowerdir=/usr:"+os.Getenv("PTC_MCP_TEST_EMPTY")); err != nil {
			return fmt.Errorf("lay an overlay over /usr: %w", err)
		}
	}
	b := newBackend("/usr/bin/python3", slog.New(slog.DiscardHandler))
	is, err := b.Probe(context.Background())
	fmt.Println(is.OwnFiles, err, strings.Join(is.Warnings, "\n"))
	return b.Close()
}

func TestLayersAreAsWideAsCanBe(t *testing.T) {
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"open/a/b", "closed/a/b", "other"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(root, "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	in := func(path string) string { return filepath.Join(root, path) }
	ordinary, privileged := user{}, user{privileged: true}
	for name, c := range map[string]struct {
		folder string
		mounts []string
		user   user
		want   string
	}{
		"not beyond a mount beside it":              {in("open/a/b"), []string{in("open"), in("other")}, ordinary, in("open")},
		"not over a mount in it":                    {in("open/a"), []string{in("open"), in("open/a/b")}, ordinary, ""},
		"root sees what lies beneath the mounts":    {in("open/a"), []string{in("open"), in("open/a/b")}, privileged, in("open/a")},
		"a mount that only begins with the name":    {in("open/a"), []string{in("open"), in("open/ab")}, ordinary, in("open/a")},
		"not where the sandbox's user cannot enter": {in("closed/a/b"), []string{in("other")}, privileged, in("closed/a")},
		"a folder that it cannot enter":             {in("closed"), []string{in("other")}, privileged, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := widest(c.folder, c.mounts, c.user); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhatIsMountedByItselfIsShownAsItIs(t *testing.T) {
	root := t.TempDir()
	fill(t, root, map[string]string{"python": "", "lib.so": ""})
	l := &layout{}
	for _, name := range []string{"python", "lib.so"} {
		if err := l.file(filepath.Join(root, name), "/"+name); err != nil {
			t.Fatal(err)
		}
	}
	mounts := []string{"/", filepath.Join(root, "lib.so")}
	l.separate(mounts, user{privileged: true})
	if want := []string{l.binds[1].Source}; !slices.Equal(l.shared, want) {
		t.Errorf("root's shared files: %v, want %v", l.shared, want)
	}
	if warning := l.sharedWarning(); !strings.Contains(warning, "lib.so") {
		t.Errorf("the warning is %q", warning)
	}
	l.separate(mounts, user{})
	if want := []string{l.binds[0].Source, l.binds[1].Source}; !slices.Equal(l.shared, want) {
		t.Errorf("an ordinary user's shared files: %v, want %v", l.shared, want)
	}
}

func TestMountPointsAreUnescaped(t *testing.T) {
	for text, want := range map[string]string{
		`/a`: "/a", `/with\040space\134`: `/with space\`, `/odd\9`: `/odd\9`, `/end\04`: `/end\04`,
	} {
		if got := unescapeOctal(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	points, err := mountPoints()
	if err != nil || !slices.Contains(points, "/proc") {
		t.Errorf("mount points: %v, %v", points, err)
	}
}
