package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait; it is reached only when something hangs.
const patience = time.Minute

// The test binary is ptc-mcp when this variable is set.
const beMain = "PTC_MCP_TEST_BE_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(beMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process is a running ptc-mcp.
type process struct {
	*exec.Cmd
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	// close closes this end of its output.
	close func()
	errs  strings.Builder
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), binary, args...), t: t}
	p.Dir = t.TempDir()
	p.Env = append(os.Environ(), beMain+"=1", "PTC_MCP_CONFIG=", "HOME="+p.Dir, "XDG_CONFIG_HOME="+p.Dir)
	p.Stderr = &p.errs
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stdout, p.out, p.close = writer, bufio.NewReader(reader), func() { _ = reader.Close() }
	t.Cleanup(p.close)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	return p
}

func (p *process) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("read: %v\n%s", err, p.errs.String())
	}
	return line
}

// ends waits for the end and checks the exit code.
func (p *process) ends(want int) {
	p.t.Helper()
	overdue := time.AfterFunc(patience, func() { _ = p.Process.Kill() })
	defer overdue.Stop()
	err := p.Wait()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		p.t.Fatal(err)
	}
	if got := p.ProcessState.ExitCode(); got != want {
		p.t.Errorf("ended with %v, want exit code %d\n%s", p.ProcessState, want, p.errs.String())
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"

// answers fails the test unless the server answers a ping.
func (p *process) answers() {
	p.t.Helper()
	if _, err := io.WriteString(p.in, ping); err != nil {
		p.t.Fatal(err)
	}
	if line := p.line(); !strings.Contains(line, `"result":{}`) {
		p.t.Fatalf("ping answered with %s", line)
	}
}

func TestServeEndsInOrderOnSignals(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		p := start(t, "serve", "--sandbox", "none")
		p.answers()
		p.signal(s)
		p.ends(0)
	}
}

func TestServeEndsInOrderWhenTheClientCloses(t *testing.T) {
	p := start(t, "serve", "--sandbox", "none")
	p.answers()
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	p.ends(0)
}

func TestServeIsNotKilledByAClientThatStopsReading(t *testing.T) {
	p := start(t, "serve", "--sandbox", "none")
	p.answers()
	p.close()
	if _, err := io.WriteString(p.in, ping); err != nil {
		t.Fatal(err)
	}
	p.ends(1)
	if !strings.Contains(p.errs.String(), "write to the client") {
		t.Errorf("standard error: %s", p.errs.String())
	}
}

func TestInterruptedRunKeepsItsOutputAndExitsWith130(t *testing.T) {
	program := filepath.Join(t.TempDir(), "wait.py")
	if err := os.WriteFile(program, []byte("import time\nprint('before', flush=True)\ntime.sleep(600)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := start(t, "run", "--sandbox", "none", program)
	if line := p.line(); line != "before\n" {
		t.Fatalf("printed %q", line)
	}
	p.signal(os.Interrupt)
	p.ends(130)
	if !strings.Contains(p.errs.String(), "cancelled") {
		t.Errorf("standard error: %s", p.errs.String())
	}
}
