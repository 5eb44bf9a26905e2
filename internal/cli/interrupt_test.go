package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// signalWriter closes a channel when a text has been written to it.
type signalWriter struct {
	mu      sync.Mutex
	text    strings.Builder
	awaited string
	seen    chan struct{}
}

func (w *signalWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := strings.Contains(w.text.String(), w.awaited)
	w.text.Write(p)
	if !before && strings.Contains(w.text.String(), w.awaited) {
		close(w.seen)
	}
	return len(p), nil
}

func (w *signalWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func programFile(t *testing.T, source string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program.py")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("PTC_MCP_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	return file
}

func TestInterruptEndsTheRunAndKeepsItsOutput(t *testing.T) {
	file := programFile(t, "import time\nprint('before', flush=True)\ntime.sleep(600)\n")
	out := &signalWriter{awaited: "before", seen: make(chan struct{})}
	var errs strings.Builder
	ctx, interrupt := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- Run(ctx, []string{"run", "--sandbox", "none", file}, Streams{In: strings.NewReader(""), Out: out, Err: &errs}, "test")
	}()
	// That it comes before the end shows that output is passed on as it is
	// printed.
	select {
	case <-out.seen:
	case <-time.After(time.Minute):
		t.Fatal("the program's output does not arrive while it runs")
	}
	interrupt()
	select {
	case got := <-code:
		if got != exitInterrupted {
			t.Errorf("exit code %d, want %d", got, exitInterrupted)
		}
	case <-time.After(time.Minute):
		t.Fatal("the run does not end")
	}
	if out.String() != "before\n" || !strings.Contains(errs.String(), "cancelled") {
		t.Errorf("standard output %q, standard error %q", out.String(), errs.String())
	}
}

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestRunEndsWhenNobodyReadsItsOutput(t *testing.T) {
	file := programFile(t, "import time\nprint('before', flush=True)\ntime.sleep(600)\n")
	var errs strings.Builder
	got := Run(t.Context(), []string{"run", "--sandbox", "none", file}, Streams{In: strings.NewReader(""), Out: closedWriter{}, Err: &errs}, "test")
	if got != exitProgram || !strings.Contains(errs.String(), "ptc-mcp: standard output: io: read/write on closed pipe") {
		t.Errorf("exit code %d, standard error %q", got, errs.String())
	}
}
