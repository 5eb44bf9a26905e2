//go:build unix

package seatbelt

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/seatbelt/seatbelttest"
)

// onMac tells that the tests run against the real sandbox-exec. Elsewhere the
// test binary stands in for it: it checks its command line and becomes the
// interpreter, without containing it.
const onMac = runtime.GOOS == "darwin"

// doomedHost is the argument that makes the test binary a host for a test to
// kill.
const doomedHost = "doomed-host"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "-p": // as sandbox-exec is called; its environment is empty
			fmt.Fprintln(os.Stderr, "stand-in for sandbox-exec:", standIn(os.Args[1:]))
			os.Exit(65)
		case doomedHost:
			os.Exit(runDoomedHost())
		}
	}
	os.Exit(m.Run())
}

// standIn takes the command line of sandbox-exec(1): -p profile, -D NAME=value,
// --, and a command, and becomes that command if all of it makes sense.
func standIn(args []string) error {
	if len(args) < 2 || args[0] != "-p" {
		return fmt.Errorf("no profile in %q", args)
	}
	text, args := args[1], args[2:]
	var definitions []string
	for len(args) > 1 && args[0] == "-D" {
		definitions, args = append(definitions, args[1]), args[2:]
	}
	if len(args) < 2 || args[0] != "--" {
		return fmt.Errorf("no command in %.80q", args)
	}
	argv := args[1:]
	profile, err := seatbelttest.Read(text, definitions)
	if err != nil {
		return err
	}
	at, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, attempt := range []seatbelttest.Attempt{
		{Operation: "process-exec", Path: argv[0]},
		{Operation: "file-write-create", Path: at + "/note"},
	} {
		ok, err := profile.Allows(attempt)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("the profile does not allow %+v", attempt)
		}
	}
	if environment := os.Environ(); len(environment) > 0 {
		return fmt.Errorf("there is an environment: %q", environment)
	}
	return syscall.Exec(argv[0], argv, nil)
}

// patience bounds every wait: far more than anything takes.
const patience = 60 * time.Second

// harmless is the trial of tests that the stand-in passes too.
const harmless = "import asyncio, json\nprint('done')"

// newTestBackend makes a backend that boots a program in place of the runner.
func newTestBackend(t *testing.T, program string) *backend {
	t.Helper()
	b := newBackend(Config{})
	if !onMac {
		standInFor(t, b)
	}
	if state := prepared(t, b); state != nil {
		b.prepared.Store(state)
	}
	if program != "" {
		b.command = func(python string) []string { return []string{python, "-I", "-S", "-B", "-c", program} }
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close the backend: %v", err)
		}
	})
	return b
}

// standInFor lets the test binary be sandbox-exec, and takes this system's own
// Python for one that is no placeholder.
func standInFor(t *testing.T, b *backend) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b.launcher, b.trial, b.finder.shim = self, harmless, ""
}

var machineOnce struct {
	sync.Once
	state *machine
}

// prepared is what the first backend of a test run found out; the others take
// it over.
func prepared(t *testing.T, b *backend) *machine {
	t.Helper()
	machineOnce.Do(func() {
		state, err := b.prepare(t.Context())
		if err != nil {
			t.Errorf("no sandbox can be made here: %v", err)
			return
		}
		machineOnce.state = state
	})
	return machineOnce.state
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

// ended is everything a sandbox gave until it ended.
type ended struct {
	channel, output string
	status          sandbox.ExitStatus
	err             error
}

// finish reads both streams to their end and waits.
func finish(t *testing.T, i sandbox.Instance) ended {
	t.Helper()
	stop := time.AfterFunc(patience, func() { _ = i.Close() })
	defer stop.Stop()
	var channel, output bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&channel, i.Channel()) })
	reading.Go(func() { _, _ = io.Copy(&output, i.Output()) })
	reading.Wait()
	e := ended{channel: channel.String(), output: output.String()}
	e.status, e.err = i.Wait()
	return e
}

// expect reads a line from the channel.
func expect(t *testing.T, i sandbox.Instance, want string) {
	t.Helper()
	stop := time.AfterFunc(patience, func() { _ = i.Close() })
	defer stop.Stop()
	var line strings.Builder
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(i.Channel(), one); err != nil {
			t.Fatalf("the channel ended after %q, want %q: %v", line.String(), want, err)
		}
		if one[0] == '\n' {
			break
		}
		line.Write(one)
	}
	if line.String() != want {
		t.Fatalf("got %q, want %q", line.String(), want)
	}
}
