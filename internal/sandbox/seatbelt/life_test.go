//go:build unix

package seatbelt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// stubborn neither reads its input nor ends with it.
const stubborn = "import os\nos.write(1, b'busy\\n')\nwhile True: pass"

func TestWhatADeadHostLeftIsSweptAtTheNextStart(t *testing.T) {
	folders := t.TempDir()
	t.Setenv("TMPDIR", folders)
	host := exec.CommandContext(t.Context(), os.Args[0], doomedHost)
	host.Stderr = os.Stderr
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the host started no sandbox: %v", err)
	}
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatal(err)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // killed
	id, ok := identify(pid)
	if !ok {
		t.Fatal("the sandbox ended with its host: there is nothing to sweep")
	}
	if left := glob(t, folders); len(left) != 1 {
		t.Fatalf("the host left %q, want one folder", left)
	}

	sweep(slog.New(slog.DiscardHandler))
	if left := glob(t, folders); len(left) != 0 {
		t.Errorf("still there: %q", left)
	}
	eventually(t, "the sandbox's end", id.gone)
}

// runDoomedHost starts a sandbox that does not end by itself, prints the number
// of its process, and waits to be killed.
func runDoomedHost() int {
	b := newBackend(Config{})
	if !onMac {
		b.launcher, b.trial, b.finder.shim = os.Args[0], harmless, ""
	}
	b.command = func(python string) []string { return []string{python, "-I", "-S", "-B", "-c", stubborn} }
	i, err := b.Start(context.Background(), sandbox.Spec{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, err := io.ReadFull(i.Channel(), make([]byte, len("busy\n"))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(i.(*instance).process.Process.Pid)
	_, _ = i.Wait()
	return 1
}

func TestASweepTakesOnlyWhatIsCertainlyNobodys(t *testing.T) {
	folders := t.TempDir()
	t.Setenv("TMPDIR", folders)
	mine, ok := identify(os.Getpid())
	if !ok {
		t.Fatal("this process cannot be told apart from others")
	}
	kept := []string{
		mine.String() + "-1",              // a living host's
		fmt.Sprintf("%d_-1", os.Getpid()), // no start: it cannot be told whose it is
		"x_1-1",                           // no number
		"notes",                           // not made here
		fmt.Sprintf("%d_%s", 1, mine.started) + "-1", // no host has this number
	}
	removed := []string{
		identity{mine.pid, mine.started + "0"}.String() + "-1", // its number is another's now
		identity{1 << 30, "5"}.String() + "-2",                 // there is no such process
	}
	for _, name := range append(kept, removed...) {
		if err := os.MkdirAll(filepath.Join(folders, folderPrefix+name, "scratch", "deep"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// The process that was noted ended, and its number is this one's now.
	note := filepath.Join(folders, folderPrefix+removed[0], "process")
	if err := os.WriteFile(note, []byte(identity{mine.pid, "1"}.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folders, folderPrefix+identity{1 << 30, "6"}.String()+"-3")
	if err := os.Symlink(filepath.Dir(outside), link); err != nil {
		t.Fatal(err)
	}
	sweep(slog.New(slog.DiscardHandler))
	for _, name := range kept {
		if _, err := os.Stat(filepath.Join(folders, folderPrefix+name)); err != nil {
			t.Errorf("%s was removed", name)
		}
	}
	for _, name := range removed {
		if _, err := os.Stat(filepath.Join(folders, folderPrefix+name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s was kept (%v)", name, err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("the sweep followed a link: %v", err)
	}
}

func TestAScratchFolderOfAnyShapeIsRemoved(t *testing.T) {
	folders := t.TempDir()
	t.Setenv("TMPDIR", folders)
	outside := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := newTestBackend(t, fmt.Sprintf(`
import os
os.makedirs("a/b/c")
open("a/b/c/file", "w").close()
os.symlink(%q, "a/link")
if hasattr(os, "chflags"):
    import stat
    os.chflags("a/b/c/file", stat.UF_IMMUTABLE)
    os.chflags("a", stat.UF_IMMUTABLE)
for name in "a/b/c", "a/b", ".":
    os.chmod(name, 0)
`, filepath.Dir(outside)))
	i, err := b.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if e := finish(t, i); e.status.Code != 0 {
		t.Fatalf("got %+v", e)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if left := glob(t, folders); len(left) != 0 {
		t.Errorf("still there: %q", left)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("the removal followed a link: %v", err)
	}
}

func TestTheScratchFolderIsWatched(t *testing.T) {
	for name, program := range map[string]string{
		"many bytes":                 "n = 0\nwhile True:\n    open(str(n), 'wb').write(b'x' * (1 << 18))\n    n += 1",
		"many files":                 "n = 0\nwhile True:\n    open(str(n), 'wb').close()\n    n += 1",
		"many files in many folders": "import os\nn = 0\nwhile True:\n    os.makedirs('%d/%d' % (n % 7, n))\n    n += 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := finish(t, start(t, program, sandbox.Spec{ScratchBytes: 2 << 20}))
			if e.err == nil || !strings.Contains(e.err.Error(), "max_scratch_bytes") || e.status.Reason != sandbox.Killed {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestAFolderThatHidesItsFilesCountsAsFull(t *testing.T) {
	f := folder{t.TempDir()}
	hidden := filepath.Join(f.scratch(), "hidden")
	if err := os.MkdirAll(hidden, 0o700); err != nil {
		t.Fatal(err)
	}
	if bytes, entries := f.used(100); bytes > 1<<20 || entries != 2 {
		t.Errorf("an empty folder counts as %d bytes, %d entries", bytes, entries)
	}
	if err := os.Chmod(hidden, 0); err != nil {
		t.Fatal(err)
	}
	if bytes, _ := f.used(100); os.Geteuid() != 0 && bytes < 1<<40 { // root sees into every folder
		t.Errorf("a folder that cannot be looked into counts as %d bytes", bytes)
	}
}

func TestTheKernelsLimitsAreSetForGood(t *testing.T) {
	e := finish(t, start(t, `
import errno, resource
for kind in resource.RLIMIT_CORE, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE:
    print(resource.getrlimit(kind))
try:
    with open("big", "wb", buffering=0) as f:
        f.seek(1 << 20)
        f.write(b"x")
except OSError as error:
    print(errno.errorcode[error.errno])
`, sandbox.Spec{ScratchBytes: 1 << 20, OpenFiles: 77}))
	if want := "(0, 0)\n(3600, 3600)\n(1048576, 1048576)\n(77, 77)\nEFBIG\n"; e.channel != want {
		t.Errorf("got %+v, want %q", e, want)
	}
}

func TestAProgramHasItsScratchFolderAndNothingElse(t *testing.T) {
	i := start(t, `
import os, stat
for name in "LC_CTYPE", "__CF_USER_TEXT_ENCODING": # Python and CoreFoundation set these themselves
    os.environ.pop(name, None)
print(os.getcwd(), dict(os.environ), oct(stat.S_IMODE(os.stat(".").st_mode)), os.getsid(0) == os.getpid())
`, sandbox.Spec{})
	want := i.folder.scratch() + " {} 0o700 True\n"
	if e := finish(t, i); e.channel != want {
		t.Errorf("got %+v, want %q", e, want)
	}
}

func TestStartAndProbeSayThatThisIsNoMac(t *testing.T) {
	b := New(Config{})
	_, probeErr := b.Probe(t.Context())
	_, startErr := b.Start(t.Context(), sandbox.Spec{})
	for _, err := range []error{probeErr, startErr} {
		if onMac {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "needs macOS") || !strings.Contains(err.Error(), "docker") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAMissingSandboxExecIsNamed(t *testing.T) {
	b := newBackend(Config{})
	b.launcher = filepath.Join(t.TempDir(), "sandbox-exec")
	_, err := b.Probe(t.Context())
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), b.launcher) || !strings.Contains(err.Error(), "; use docker") {
		t.Errorf("got %v", err)
	}
}

func TestCapabilitiesClaimOnlyWhatIsEnforced(t *testing.T) {
	is, err := newTestBackend(t, "").Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !is.Isolated || !is.Memory || is.CPUs || is.Processes || is.Scratch {
		t.Errorf("got %+v", is)
	}
	blind := *machineOnce.state
	blind.memory = false
	if is := blind.capabilities(); is.Memory || len(is.Warnings) != 2 || strings.Contains(is.Description, "memory watched") {
		t.Errorf("where memory cannot be seen: got %+v", is)
	}
}

func TestAProbeEndsWithItsContext(t *testing.T) {
	b := newTestBackend(t, "")
	b.prepared.Store(nil)
	b.trial = "while True: pass"
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := b.Probe(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestMemoryIsSeenAsItGrows(t *testing.T) {
	i := start(t, "import os\nos.write(1, b'before\\n')\nos.read(0, 1)\nhoard = b'x' * (64 << 20)\nos.write(1, b'after\\n')\nos.read(0, 1)", sandbox.Spec{})
	measure := func() int64 {
		used, err := memoryUsed(i.process.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		return used
	}
	expect(t, i, "before")
	before := measure()
	if _, err := i.Channel().Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	expect(t, i, "after")
	if grown := measure() - before; before <= 0 || grown < 60<<20 || grown > 80<<20 {
		t.Errorf("%d bytes at first, and %d more after 64 MiB were filled", before, grown)
	}
}

func glob(t *testing.T, folders string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(folders, folderPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// eventually waits for something that comes by itself.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	deadline := time.After(patience)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !happened() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited %v in vain for %s", patience, what)
		}
	}
}
