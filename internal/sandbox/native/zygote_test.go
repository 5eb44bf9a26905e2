//go:build linux

package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// zygoteOf boots a backend's zygote and returns it and the number of its
// process.
func zygoteOf(t *testing.T, b *backend) (*zygote, int) {
	t.Helper()
	z, err := b.takeZygote(t.Context(), b.prepared.Load())
	if err != nil {
		t.Fatal(err)
	}
	z.give()
	pids := children(t, firstPid(t, z.base))
	if len(pids) != 1 {
		t.Fatalf("the supervisor has processes %v, want one", pids)
	}
	return z, pids[0]
}

// forkedOutput starts a sandbox, which must be forked, and reads it to its end.
func forkedOutput(t *testing.T, b *backend) string {
	t.Helper()
	i, err := b.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	if !isForked(i) {
		t.Error("the sandbox was not forked")
	}
	return readAll(t, i)
}

const waitForALine = "import sys\nprint('ready', flush=True)\nprint(sys.stdin.readline(), end='')"

// TestRunsOutliveTheirZygote and the next ones get another.
func TestRunsOutliveTheirZygote(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, b *backend, z *zygote, pid int){
		"killed": func(t *testing.T, _ *backend, _ *zygote, pid int) {
			process := openProcess(t, pid)
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			gone(t, process)
		},
		"Python has changed": func(_ *testing.T, _ *backend, z *zygote, _ int) { z.loaded = "another" },
		"many runs": func(_ *testing.T, _ *backend, z *zygote, _ int) {
			z.mutex.Lock()
			z.started = zygoteRuns
			z.mutex.Unlock()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestBackend(t, waitForALine)
			z, pid := zygoteOf(t, b)
			old, err := b.Start(t.Context(), sandbox.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = old.Close() })
			line := make([]byte, len("ready\n"))
			if _, err := old.Channel().Read(line); err != nil {
				t.Fatal(err)
			}
			end(t, b, z, pid)
			next, err := b.Start(t.Context(), sandbox.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = next.Close() })
			other, _ := zygoteOf(t, b)
			if name != "killed" && (other == z || !isForked(next)) {
				t.Error("the next run is from the same zygote, or none")
			}
			for _, i := range []sandbox.Instance{old, next} {
				if _, err := i.Channel().Write([]byte("still here\n")); err != nil {
					t.Fatal(err)
				}
				if out := readAll(t, i); !strings.HasSuffix(out, "still here\n") {
					t.Errorf("got %q", out)
				}
				if status, err := i.Wait(); err != nil || status != (sandbox.ExitStatus{}) {
					t.Errorf("got %+v, %v", status, err)
				}
			}
			if other == z {
				t.Error("the zygote was not replaced")
			}
			<-z.base.ended // with its last run
		})
	}
}

func TestAZygoteThatIsStuckIsPassedOver(t *testing.T) {
	b := newTestBackend(t, "print('fine')")
	z, pid := zygoteOf(t, b)
	b.zygotes.patience = time.Second
	if out := forkedOutput(t, b); out != "fine\n" {
		t.Fatalf("got %q", out)
	}
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	i, err := b.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	if out := readAll(t, i); out != "fine\n" || isForked(i) {
		t.Errorf("got %q, forked: %v", out, isForked(i))
	}
	b.zygotes.patience = patience
	<-z.base.ended
	if out := forkedOutput(t, b); out != "fine\n" {
		t.Errorf("afterwards: %q", out)
	}
}

func TestAStartIsAbandonedWhileTheZygoteIsStuck(t *testing.T) {
	b := newTestBackend(t, "print('fine')")
	_, pid := zygoteOf(t, b)
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var starting sync.WaitGroup
	starting.Go(func() {
		if _, err := b.Start(ctx, sandbox.Spec{}); err == nil {
			t.Error("it was started")
		}
	})
	cancel()
	starting.Wait()
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if out := forkedOutput(t, b); out != "fine\n" {
		t.Errorf("afterwards: %q", out)
	}
}

func TestWithoutAZygoteSandboxesStartThePlainWay(t *testing.T) {
	for name, prepare := range map[string]func(b *backend){
		"switched off":     func(b *backend) { b.zygotes.off = true },
		"it does not boot": func(b *backend) { b.code.load = "import sys\nif 'ctypes' in sys.modules: sys.exit('no luck')\n" },
		"it cannot confine": func(b *backend) {
			state := *b.prepared.Load()
			state.filter = state.filter[:len(state.filter)-instructionBytes] // whose end is no verdict
			b.prepared.Store(&state)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestBackend(t, "print('fine')")
			whole := b.prepared.Load()
			prepare(b)
			if _, err := b.startFromZygote(t.Context(), b.prepared.Load(), withDefaults(sandbox.Spec{})); err == nil {
				t.Fatal("there was a zygote")
			}
			b.prepared.Store(whole)
			plain, err := b.Start(t.Context(), sandbox.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = plain.Close() })
			if out := readAll(t, plain); out != "fine\n" || isForked(plain) {
				t.Errorf("got %q, forked: %v", out, isForked(plain))
			}
			is, err := b.Probe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(is.Description, "each boots a Python of its own") {
				t.Errorf("the description says %q", is.Description)
			}
			if warned := strings.Contains(fmt.Sprint(is.Warnings), "booted once"); warned == b.zygotes.off {
				t.Errorf("the warnings are %q", is.Warnings)
			}
		})
	}
}

func TestAZygoteThatNobodyNeedsEnds(t *testing.T) {
	b := newTestBackend(t, "print('fine')")
	b.zygotes.idle = 100 * time.Millisecond
	z, err := b.takeZygote(t.Context(), b.prepared.Load())
	if err != nil {
		t.Fatal(err)
	}
	z.give()
	<-z.base.ended
	if out := forkedOutput(t, b); out != "fine\n" {
		t.Errorf("afterwards: %q", out)
	}
}

func TestTheZygoteCannotBeRead(t *testing.T) {
	b := newTestBackend(t, "print('fine')")
	z, pid := zygoteOf(t, b)
	for _, pid := range []int{pid, firstPid(t, z.base)} {
		info, err := os.Stat(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			t.Fatal(err)
		}
		// Of a process that may be traced, the files are its user's.
		if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner == b.prepared.Load().user.uid {
			t.Errorf("process %d may be traced", pid)
		}
	}
}

func TestRunsShareNoRandomness(t *testing.T) {
	b := newTestBackend(t, "print(random.random(), tempfile._get_candidate_names().rng.random(), uuid.uuid4(), ssl.RAND_bytes(8).hex())")
	b.code.load = "import builtins, random, ssl, tempfile, uuid\nbuiltins.random, builtins.ssl, builtins.tempfile, builtins.uuid = random, ssl, tempfile, uuid\nrandom.random(); uuid.uuid4(); ssl.RAND_bytes(8)\n"
	seen := map[string]bool{}
	for range 3 {
		for value := range strings.FieldsSeq(forkedOutput(t, b)) {
			if seen[value] {
				t.Errorf("two runs drew %s", value)
			}
			seen[value] = true
		}
	}
	if len(seen) != 12 {
		t.Errorf("drawn: %v", seen)
	}
}

func TestARunFindsNothingOfTheZygote(t *testing.T) {
	b := newTestBackend(t, "import sys\nprint(sorted(n for n in globals() if not n.startswith('__')), sys.argv)")
	if out, want := forkedOutput(t, b), "['sys'] ['-c']\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestOnlyNamespacesOfItsOwnAreARuns(t *testing.T) {
	b := newTestBackend(t, waitForALine)
	z, zygote := zygoteOf(t, b)
	var runs []int
	for range 2 {
		i, err := b.Start(t.Context(), sandbox.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = i.Close() })
		runs = append(runs, firstPid(t, i.(*instance)))
	}
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		seen := map[string]int{}
		for _, pid := range append(runs, zygote, firstPid(t, z.base), os.Getpid()) {
			namespace, err := os.Readlink(filepath.Join("/proc", fmt.Sprint(pid), "ns", kind))
			if err != nil {
				t.Fatal(err)
			}
			seen[namespace]++
		}
		want := 4 // each run, the template, the host
		if kind == "cgroup" {
			want = 3 // the template must reach the cgroups of runs
		}
		if len(seen) != want {
			t.Errorf("%s namespaces: %v", kind, seen)
		}
	}
}
