package unconfined

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// instance is one running interpreter and what it started.
type instance struct {
	folder string
	stdin  *os.File
	stdout *os.File
	stderr *os.File

	closing   chan struct{}
	closeOnce sync.Once
	ended     chan struct{} // closed when status and err are set
	status    sandbox.ExitStatus
	err       error
}

// launch starts the interpreter in a folder of its own.
func (b *Backend) launch(python string) (_ *instance, err error) {
	folder, err := os.MkdirTemp("", "ptc-mcp-")
	if err != nil {
		return nil, fmt.Errorf("unconfined: scratch folder: %w: %w", err, sandbox.ErrUnavailable)
	}
	i := &instance{folder: folder, closing: make(chan struct{}), ended: make(chan struct{})}
	var files [6]*os.File
	defer func() {
		if err != nil {
			closeAll(files[:])
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	for n := 0; n < len(files); n += 2 {
		if files[n], files[n+1], err = os.Pipe(); err != nil {
			return nil, fmt.Errorf("unconfined: pipe: %w: %w", err, sandbox.ErrUnavailable)
		}
	}
	i.stdin, i.stdout, i.stderr = files[1], files[2], files[4]
	argv := b.command(python)
	command := exec.Command(argv[0], argv[1:]...) //nolint:noctx // ended by Close, as a whole tree
	command.Dir = folder
	command.Env = environment(folder)
	command.Stdin, command.Stdout, command.Stderr = files[0], files[3], files[5]

	started := make(chan error)
	b.running.Add(1)
	go func() {
		defer b.running.Done()
		i.live(command, started)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("unconfined: start %s: %w: %w", python, err, sandbox.ErrUnavailable)
	}
	closeAll([]*os.File{files[0], files[3], files[5]})
	return i, nil
}

// live starts the command, waits for its end, and cleans up. It stays on one
// thread, because Linux ends a child that is to die with its parent when the
// thread that started it ends.
func (i *instance) live(command *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	processes, err := startTree(command, i.folder)
	started <- err
	if err != nil {
		return
	}
	exited := make(chan struct{})
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		select {
		case <-i.closing:
			processes.kill()
		case <-exited:
		}
	}()
	err = command.Wait()
	close(exited)
	<-killed
	processes.kill() // what the interpreter left running
	i.status = exitStatus(command.ProcessState)
	if isClosed(i.closing) {
		i.status = sandbox.ExitStatus{Reason: sandbox.Killed, Code: -1, Signal: "SIGKILL"}
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		i.err = fmt.Errorf("unconfined: wait: %w", err)
	}
	if err := os.RemoveAll(i.folder); err != nil && i.err == nil {
		i.err = fmt.Errorf("unconfined: scratch folder: %w", err)
	}
	close(i.ended)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Channel is the interpreter's standard output and input.
func (i *instance) Channel() io.ReadWriteCloser { return channel{i} }

// Output is the interpreter's standard error.
func (i *instance) Output() io.Reader { return untilEnd{i.stderr} }

type channel struct{ *instance }

func (c channel) Read(p []byte) (int, error)  { return untilEnd{c.stdout}.Read(p) }
func (c channel) Write(p []byte) (int, error) { return c.stdin.Write(p) }

// Close ends the interpreter's standard input only.
func (c channel) Close() error { return c.stdin.Close() }

// untilEnd reads a pipe and closes it at its end, so that an Instance leaves no
// descriptor although it can be read after Close.
type untilEnd struct{ file *os.File }

func (u untilEnd) Read(p []byte) (int, error) {
	n, err := u.file.Read(p)
	if errors.Is(err, io.EOF) {
		_ = u.file.Close()
	} else if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// Wait blocks until the interpreter and what it started have ended and the
// folder is gone.
func (i *instance) Wait() (sandbox.ExitStatus, error) {
	<-i.ended
	return i.status, i.err
}

// Close kills the interpreter and what it started. What was printed by then
// can still be read.
func (i *instance) Close() error {
	i.closeOnce.Do(func() {
		close(i.closing)
		_ = i.stdin.Close() // ends a write that nobody reads
	})
	return nil
}

var _ sandbox.Instance = (*instance)(nil)
