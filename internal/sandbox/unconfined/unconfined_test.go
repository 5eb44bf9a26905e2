package unconfined

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// newBackend boots a program in place of the runner, unless it is empty.
func newBackend(t *testing.T, program string, logger *slog.Logger) *Backend {
	t.Helper()
	backend := New(Config{Python: os.Getenv("PTC_MCP_TEST_PYTHON"), Logger: logger})
	if program != "" {
		backend.command = func(python string) []string { return []string{python, "-I", "-S", "-B", "-c", program} }
	}
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Errorf("close backend: %v", err)
		}
	})
	return backend
}

func TestEveryStartWarnsLoudly(t *testing.T) {
	var log bytes.Buffer
	backend := newBackend(t, `pass`, slog.New(slog.NewTextHandler(&log, nil)))
	for range 2 {
		instance, err := backend.Start(t.Context(), sandbox.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := instance.Wait(); err != nil {
			t.Error(err)
		}
		if err := instance.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(log.String(), "level=WARN msg=\"running a program WITHOUT a sandbox"); n != 2 {
		t.Errorf("warned %d times, want 2:\n%s", n, log.String())
	}
}

func TestItClaimsNothing(t *testing.T) {
	is, err := newBackend(t, "", slog.New(slog.DiscardHandler)).Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if is.Isolated || is.Memory || is.CPUs || is.Processes || is.Scratch || len(is.Warnings) == 0 {
		t.Errorf("got %+v, want no claim and a warning", is)
	}
}

func TestAnUnusableInterpreterIsNamedWithTheRemedy(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // the stand-ins are shell scripts
	}
	script := func(text string) string {
		path := filepath.Join(t.TempDir(), "python")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct{ python, says string }{
		"missing":         {filepath.Join(t.TempDir(), "nothing"), "no such file"},
		"too old":         {script("echo /usr/bin/python3; echo 3.8.2; echo old"), "it is Python 3.8.2"},
		"not Python":      {script("echo hello"), "it answered"},
		"fails to answer": {script("echo no such version >&2; exit 3"), "no such version"},
	} {
		backend := New(Config{Python: c.python, Logger: slog.New(slog.DiscardHandler)})
		_, err := backend.Start(t.Context(), sandbox.Spec{})
		if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "python.path") {
			t.Errorf("%s: got %v, want one that says %q and names python.path", name, err, c.says)
		}
	}
}

func TestCloseLeavesNoFolder(t *testing.T) {
	backend := newBackend(t, "import os\nprint(os.getcwd(), flush=True)\nopen('note', 'w').close()\nos.read(0, 1)", slog.New(slog.DiscardHandler))
	instance, err := backend.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 4096)
	n, err := instance.Channel().Read(line)
	if err != nil {
		t.Fatal(err)
	}
	folder := strings.TrimSpace(string(line[:n]))
	if _, err := os.Stat(folder); err != nil {
		t.Fatalf("the folder is not even there while running: %v", err)
	}
	if err := instance.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, instance.Output()); err != nil {
		t.Error(err)
	}
	if _, err := instance.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", folder, err)
	}
}
