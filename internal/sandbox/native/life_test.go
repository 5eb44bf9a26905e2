//go:build linux

package native

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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// doomedHost tells a test binary to start a sandbox, say which, and wait to be
// killed.
const doomedHost = "PTC_MCP_TEST_DOOMED_HOST"

func runDoomedHost() int {
	state, err := machineOnce()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	b := newBackend("", slog.New(slog.DiscardHandler))
	b.prepared.Store(state)
	b.code = code{run: stubborn}
	i, err := b.Start(context.Background(), sandbox.Spec{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, err := io.ReadFull(i.Channel(), make([]byte, len("ready"))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	pid, err := findFirst(i.(*instance))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(pid, state.owner)
	_, _ = io.Copy(io.Discard, i.Channel())
	return 0
}

// stubborn ignores signals, leaves its session, and starts children that do so
// too.
const stubborn = `
import os, signal, time
for n in range(1, 32):
    try:
        signal.signal(n, signal.SIG_IGN)
    except OSError:
        pass
if os.fork() == 0:
    os.setsid()
    os.fork()
else:
    os.write(1, b"ready")
time.sleep(100000)
`

// gone waits until a process has ended.
func gone(t *testing.T, pidfd int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	deadline := time.Now().Add(patience)
	for {
		n, err := unix.Poll(fds, int(time.Until(deadline).Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n != 1 {
			t.Fatalf("the process still runs: %d, %v", n, err)
		}
		return
	}
}

// children are the child processes of a process, by whichever thread.
func children(t *testing.T, pid int) []int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that has ended
		}
		for _, field := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, child)
		}
	}
	return pids
}

func openProcess(t *testing.T, pid int) int {
	t.Helper()
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(pidfd) })
	return pidfd
}

func TestTheSandboxDiesWithAHostThatIsKilled(t *testing.T) {
	// First, because finding out about the machine sweeps.
	state, err := machineOnce()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), doomedHost+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the host started no sandbox: %v", err)
	}
	number, owner, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	// The sandbox's supervisor, and the one in reserve.
	supervisors := []int{openProcess(t, pid)}
	for _, child := range children(t, cmd.Process.Pid) {
		if child != pid {
			supervisors = append(supervisors, openProcess(t, child))
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, supervisor := range supervisors {
		gone(t, supervisor)
	}

	// A supervisor ends only after all processes of its namespace have; then
	// the next host can remove the cgroups.
	left := func() (paths []string) {
		for _, h := range state.groups {
			found, err := filepath.Glob(filepath.Join(h.dir, owner+".*"))
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, found...)
		}
		return paths
	}
	if len(left()) < len(state.groups) {
		t.Errorf("the killed host left %v, want a folder for each of %d hierarchies", left(), len(state.groups))
	}
	// The kernel may need a moment more, or a supervisor was just being made.
	deadline := time.After(patience)
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for state.groups.sweep(); len(left()) > 0; state.groups.sweep() {
		select {
		case <-retry.C:
		case <-deadline:
			t.Fatalf("still there after sweeps: %v", left())
		}
	}
}

func TestASweepSparesLivingHosts(t *testing.T) {
	i := start(t, stubborn, sandbox.Spec{})
	state, err := machineOnce()
	if err != nil {
		t.Fatal(err)
	}
	state.groups.sweep()
	for _, m := range i.group.members {
		if _, err := os.Stat(m.path); err != nil {
			t.Error(err)
		}
	}
}

func TestAStartAfterAFailedOneLooksAgain(t *testing.T) {
	b := newPlainBackend(t, "print('fine')")
	stale := *b.prepared.Load()
	stale.layout = &layout{binds: []bind{{Source: "/nowhere", Target: "/nowhere"}}}
	b.prepared.Store(&stale)
	if _, err := b.Start(t.Context(), sandbox.Spec{}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Fatalf("got %v, want unavailable", err)
	}
	i, err := b.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	if out := readAll(t, i); out != "fine\n" {
		t.Errorf("got %q", out)
	}
}

func TestASupervisorInReserveThatDiedIsReplaced(t *testing.T) {
	b := newPlainBackend(t, "print('fine')")
	b.refill(b.prepared.Load())
	if err := b.reserve.one.first.kill(); err != nil {
		t.Fatal(err)
	}
	i, err := b.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	if out := readAll(t, i); out != "fine\n" {
		t.Errorf("got %q", out)
	}
}

func TestCloseKillsWhatIgnoresEverySignal(t *testing.T) {
	i := start(t, stubborn, sandbox.Spec{})
	if _, err := io.ReadFull(i.Channel(), make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	supervisor := openProcess(t, firstPid(t, i))
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, supervisor)
	if status, err := i.Wait(); err != nil || status.Reason != sandbox.Killed {
		t.Errorf("got %+v, %v", status, err)
	}
	// The child that left the session held the output open until it died.
	if _, err := io.ReadAll(i.Output()); err != nil {
		t.Error(err)
	}
}

func TestTheSupervisorHasNoRightsLeft(t *testing.T) {
	i := start(t, stubborn, sandbox.Spec{})
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", firstPid(t, i)))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("no threads found: %v", err)
	}
	// Of a program built with cgo, only the thread that starts Python drops its
	// capabilities; the filter binds all.
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_GETPID, 0, 0, 0)
	for n, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			switch key {
			case "CapInh", "CapPrm", "CapEff", "CapAmb":
				if strings.Trim(value, "0") != "" && (n == 0 || errno != syscall.ENOTSUP) {
					t.Errorf("%s: %s is %s", task, key, value)
				}
			case "NoNewPrivs":
				if value != "1" {
					t.Errorf("%s: no_new_privs is %s", task, value)
				}
			case "Seccomp":
				if value != "2" {
					t.Errorf("%s: seccomp is %s", task, value)
				}
			}
		}
	}
}

func TestTheKernelTakesTheProgramFirstWhenMemoryRunsOut(t *testing.T) {
	i := start(t, stubborn, sandbox.Spec{})
	if _, err := io.ReadFull(i.Channel(), make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	supervisor := firstPid(t, i)
	score := func(pid string) string {
		text, err := os.ReadFile("/proc/" + pid + "/oom_score_adj")
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	if got, want := score(strconv.Itoa(supervisor)), score("self"); got != want {
		t.Errorf("the supervisor's score is %s, want %s", got, want)
	}
	runners := children(t, supervisor)
	if len(runners) == 0 {
		t.Fatal("no runner found")
	}
	for _, child := range runners {
		if got := score(strconv.Itoa(child)); got != "1000" {
			t.Errorf("the program's score is %s", got)
		}
	}
}

func TestAProgramCannotHarmItsSupervisorUnseen(t *testing.T) {
	// The first process of a namespace ignores what it does not handle; if a
	// signal does end it, the whole sandbox has ended.
	out, _, _ := inside(t, `
import os, signal
for n in (signal.SIGKILL, signal.SIGSTOP):
    os.kill(1, n)
print("alive")
`, sandbox.Spec{})
	if out != "alive\n" {
		t.Errorf("got %q", out)
	}
}

func TestBombsStayInside(t *testing.T) {
	for name, program := range map[string]string{
		"forks":       "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
		"memory":      "hoard = []\nwhile True:\n    hoard.append(bytearray(1 << 20))",
		"descriptors": "import os\nwhile True:\n    try:\n        os.pipe()\n    except OSError:\n        os.fork()",
		"output":      "import os\nwhile True:\n    os.write(2, b'x' * 65536)",
		"files":       "import os\nn = 0\nwhile True:\n    n += 1\n    try:\n        os.mkdir(str(n))\n    except OSError:\n        pass",
	} {
		t.Run(name, func(t *testing.T) {
			i := start(t, "print('ready', flush=True)\n"+program, sandbox.Spec{Processes: 16, MemoryBytes: 64 << 20})
			if _, err := io.ReadFull(i.Channel(), make([]byte, len("ready\n"))); err != nil {
				t.Fatal(err)
			}
			// Another sandbox works meanwhile.
			if out, errors, _ := inside(t, "print('fine')", sandbox.Spec{}); out != "fine\n" {
				t.Errorf("beside it: %q %q", out, errors)
			}
			if err := i.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := i.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
