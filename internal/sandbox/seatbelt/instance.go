//go:build unix

package seatbelt

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// instance is one sandbox.
type instance struct {
	logger  *slog.Logger
	folder  folder
	process *exec.Cmd
	input   *os.File // to the runner
	channel *source
	output  *source

	closed   atomic.Bool
	starved  atomic.Bool           // it was killed for its memory
	overflow atomic.Pointer[error] // it was killed for its scratch folder
	exited   chan struct{}         // closed when the process has ended
	ended    chan struct{}         // closed when status and err are final
	status   sandbox.ExitStatus
	err      error
}

// launch starts argv in a folder of its own.
func (b *backend) launch(state *machine, spec sandbox.Spec, argv []string) (*instance, error) {
	i := &instance{logger: b.logger, exited: make(chan struct{}), ended: make(chan struct{})}
	if err := i.start(b.launcher, state, limited(argv, spec)); err != nil {
		return nil, fmt.Errorf("seatbelt: start a sandbox: %w: %w", err, sandbox.ErrUnavailable)
	}
	b.running.Go(func() { i.watch(spec) })
	b.running.Go(i.follow)
	return i, nil
}

// start makes the folder, the streams and the process, or leaves nothing.
func (i *instance) start(launcher string, state *machine, argv []string) (err error) {
	if i.folder, err = newFolder(); err != nil {
		return fmt.Errorf("scratch folder: %w", err)
	}
	var files [6]*os.File // read and write end of input, channel, output
	defer func() {
		if err == nil {
			closeAll(files[0], files[3], files[5]) // the process has them
			return
		}
		closeAll(files[:]...)
		err = errors.Join(err, i.folder.remove())
	}()
	for n := 0; n < len(files); n += 2 {
		if files[n], files[n+1], err = os.Pipe(); err != nil {
			return err
		}
	}
	i.input, i.channel, i.output = files[1], &source{file: files[2]}, &source{file: files[4]}

	text, definitions, err := state.layout.profile(i.folder.scratch())
	if err != nil {
		return err
	}
	i.process = exec.Command(launcher, arguments(text, definitions, argv)...) //nolint:noctx // ended by Close
	i.process.Dir = i.folder.scratch()
	i.process.Env = []string{}
	i.process.Stdin, i.process.Stdout, i.process.Stderr = files[0], files[3], files[5]
	// A session of its own: no terminal, and none of its signals.
	i.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := i.process.Start(); err != nil {
		return err
	}
	if err := i.folder.note(i.process.Process.Pid); err != nil {
		i.logger.Warn("a sandbox that outlives ptc-mcp will not be found by the next", "error", err)
	}
	return nil
}

// arguments are those of sandbox-exec(1).
func arguments(profile string, definitions, argv []string) []string {
	list := []string{"-p", profile}
	for _, definition := range definitions {
		list = append(list, "-D", definition)
	}
	return append(append(list, "--"), argv...)
}

func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close()
		}
	}
}

// follow waits for the sandbox's end, then removes what it had.
func (i *instance) follow() {
	err := i.process.Wait()
	close(i.exited)
	i.status, i.err = i.classify(err)
	close(i.ended)
	if err := i.folder.remove(); err != nil {
		i.logger.Warn("a sandbox's folder cannot be removed", "error", err)
	}
}

// classify says how the sandbox ended.
func (i *instance) classify(waitErr error) (sandbox.ExitStatus, error) {
	if exit := (*exec.ExitError)(nil); waitErr != nil && !errors.As(waitErr, &exit) {
		return sandbox.ExitStatus{}, fmt.Errorf("seatbelt: wait for the sandbox: %w", waitErr)
	}
	status, _ := i.process.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() {
		return sandbox.ExitStatus{Reason: sandbox.Exited, Code: status.ExitStatus()}, nil
	}
	is := sandbox.ExitStatus{Reason: sandbox.Signalled, Code: -1, Signal: unix.SignalName(status.Signal())}
	if status.Signal() == syscall.SIGKILL {
		overflow := i.overflow.Load()
		switch {
		case i.starved.Load():
			is.Reason = sandbox.OutOfMemory
		case overflow != nil:
			is.Reason = sandbox.Killed
			return is, *overflow
		case i.closed.Load():
			is.Reason = sandbox.Killed
		}
	}
	return is, nil
}

// Channel carries frames; see sandbox.Instance.
func (i *instance) Channel() io.ReadWriteCloser { return duplex{i.channel, i.input} }

// Output is what the program prints; see sandbox.Instance.
func (i *instance) Output() io.Reader { return i.output }

// Wait blocks until the sandbox has ended; see sandbox.Instance.
func (i *instance) Wait() (sandbox.ExitStatus, error) {
	<-i.ended
	return i.status, i.err
}

// Close kills the sandbox; see sandbox.Instance. What was written before can
// still be read from its streams.
func (i *instance) Close() error {
	if i.closed.Swap(true) {
		return nil
	}
	_ = i.input.Close() // ends a write that nobody reads
	i.kill()
	return nil
}

// kill ends the process, and its group in case there is one after all.
func (i *instance) kill() {
	select {
	case <-i.exited:
		return // its number may be another's by now
	default:
	}
	_ = unix.Kill(-i.process.Process.Pid, unix.SIGKILL) // both fail when it has just ended
	_ = i.process.Process.Kill()
}

// discard gives back the streams of a sandbox that nobody will read.
func (i *instance) discard() { closeAll(i.channel.file, i.output.file) }

// duplex joins the two directions of the channel. Closing it ends the runner's
// input; its output can be read on.
type duplex struct {
	io.Reader
	io.WriteCloser
}

// source is the read end of a pipe. It gives its descriptor back at the end of
// the data, which comes when the process is gone.
type source struct {
	file *os.File
	done atomic.Bool
}

// Read reads what there is; after the end it keeps returning io.EOF.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.file.Read(p)
	if err == nil {
		return n, nil
	}
	if s.done.Swap(true) {
		return n, io.EOF
	}
	_ = s.file.Close()
	return n, err
}

var _ sandbox.Instance = (*instance)(nil)
