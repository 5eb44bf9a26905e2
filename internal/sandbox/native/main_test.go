//go:build linux

package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// TestMain serves as main does: the test binary is its own supervisor. It also
// serves as a host that a test kills.
func TestMain(m *testing.M) {
	Init()
	if os.Getenv(doomedHost) != "" {
		os.Exit(runDoomedHost())
	}
	if how := os.Getenv(barred); how != "" {
		os.Exit(runBarred(how))
	}
	os.Exit(m.Run())
}

// patience bounds every wait: far more than anything takes.
const patience = 60 * time.Second

// machine is what one backend found out; the others of a test run take it over.
var machineOnce = sync.OnceValues(func() (*machineState, error) {
	b := newBackend("", slog.New(slog.DiscardHandler))
	defer func() { _ = b.Close() }()
	return b.prepare(context.Background())
})

// newPlainBackend makes one without a zygote.
func newPlainBackend(t *testing.T, program string) *backend {
	t.Helper()
	b := newTestBackend(t, program)
	b.zygotes.off = true
	return b
}

// newTestBackend makes a backend that boots a program in place of the runner.
func newTestBackend(t *testing.T, program string) *backend {
	t.Helper()
	state, err := machineOnce()
	if err != nil {
		t.Fatalf("no sandbox can be made here: %v", err)
	}
	b := newBackend("", slog.New(slog.DiscardHandler))
	b.prepared.Store(state)
	if program != "" {
		b.code = code{run: program}
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close the backend: %v", err)
		}
	})
	return b
}

// start boots a program in a sandbox that the test's end closes.
func start(t *testing.T, program string, spec sandbox.Spec) *instance {
	t.Helper()
	i, err := newTestBackend(t, program).Start(t.Context(), spec)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() { _ = i.Close() })
	return i.(*instance)
}

// inside runs a program in a sandbox to its end and returns what it wrote to
// its standard output, and to its standard error.
func inside(t *testing.T, program string, spec sandbox.Spec) (out, errors string, status sandbox.ExitStatus) {
	t.Helper()
	i := start(t, program, spec)
	stop := time.AfterFunc(patience, func() { _ = i.Close() })
	defer stop.Stop()
	var channel, output bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&channel, i.Channel()) })
	reading.Go(func() { _, _ = io.Copy(&output, i.Output()) })
	reading.Wait()
	status, err := i.Wait()
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	return channel.String(), output.String(), status
}

// readAll reads what a sandbox writes to its standard output, to the end.
func readAll(t *testing.T, i sandbox.Instance) string {
	t.Helper()
	stop := time.AfterFunc(patience, func() { _ = i.Close() })
	defer stop.Stop()
	go func() { _, _ = io.Copy(io.Discard, i.Output()) }()
	out, err := io.ReadAll(i.Channel())
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// outside runs a program with the same interpreter without a sandbox, in an
// empty folder.
func outside(t *testing.T, program string) string {
	t.Helper()
	state, err := machineOnce()
	if err != nil {
		t.Fatal(err)
	}
	return outsideWith(t, state.python.Executable, program)
}

func outsideWith(t *testing.T, python, program string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-I", "-S", "-B", "-c", program)
	cmd.Dir = t.TempDir()
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Logf("outside: %v: %s", err, problems.String())
	}
	return string(out)
}

// firstPid is the number of a sandbox's first process.
func firstPid(t *testing.T, i *instance) int {
	t.Helper()
	pid, err := findFirst(i)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func findFirst(i *instance) (pid int, err error) {
	forked, ok := i.first.(forkedFirst)
	if !ok {
		return i.first.(startedFirst).Process.Pid, nil
	}
	conn, err := forked.handle.SyscallConn()
	if err != nil {
		return 0, err
	}
	var info []byte
	controlErr := conn.Control(func(fd uintptr) {
		info, err = os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	})
	_, after, _ := strings.Cut(string(info), "\nPid:\t")
	if _, scanErr := fmt.Sscan(after, &pid); scanErr != nil {
		return 0, errors.Join(controlErr, err, scanErr)
	}
	return pid, nil
}
