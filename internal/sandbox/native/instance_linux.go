package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// errDied means that a supervisor ended without a word.
var errDied = errors.New("the sandbox's first process died before it could start Python")

// pipeBytes is the size asked for the pipes of the channel: large results pass
// with fewer switches. It is what an ordinary user may have.
const pipeBytes = 1 << 20

// instance is one sandbox.
type instance struct {
	logger  *slog.Logger
	group   *group
	first   first
	control *os.File
	input   *os.File // to the runner
	channel *source
	output  *source

	// The sandbox's ends, closed here once it has them.
	theirInput, theirChannel, theirOutput, theirControl *os.File

	closed atomic.Bool
	began  chan error    // the sandbox's first word: nil, or what failed
	ended  chan struct{} // status and err are final
	status sandbox.ExitStatus
	err    error
}

// newInstance makes the streams; the sandbox's ends go to files. On failure
// it returns those it has made.
func newInstance(logger *slog.Logger, group *group, files *fileSet) (*instance, error) {
	i := &instance{logger: logger, group: group, began: make(chan error, 1), ended: make(chan struct{})}
	var channel, output *os.File
	err := errors.Join(
		pipe(&i.theirInput, &i.input, pipeBytes),
		pipe(&channel, &i.theirChannel, pipeBytes),
		pipe(&output, &i.theirOutput, 0),
		socketPair(unix.SOCK_STREAM, &i.control, &i.theirControl),
	)
	i.channel, i.output = &source{file: channel}, &source{file: output}
	for _, file := range []*os.File{i.theirInput, i.theirChannel, i.theirOutput, i.theirControl} {
		files.add(file)
	}
	if err != nil {
		return i, fmt.Errorf("native: make streams: %w", err)
	}
	return i, nil
}

func pipe(read, write **os.File, size int) error {
	var err error
	if *read, *write, err = os.Pipe(); err != nil {
		return err
	}
	if size > 0 {
		resize(*write, size)
	}
	return nil
}

// resize asks for a larger pipe. It is refused when this user has much in pipes
// already; the default works too.
func resize(file *os.File, size int) {
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size)
	})
}

func socketPair(kind int, ours, theirs **os.File) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	// Only a descriptor that is non-blocking now can be closed under a reader.
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return err
	}
	*ours, *theirs = os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	return nil
}

// watch follows the sandbox to its end, then removes what it had.
func (i *instance) watch() {
	last := i.follow()
	status, err := i.first.wait()
	i.status, i.err = i.classify(last, status, err)
	close(i.ended)
	_ = i.control.Close()
	i.group.remove(i.logger)
}

// follow reads reports until there are no more and returns the last.
func (i *instance) follow() report {
	var last report
	reports := json.NewDecoder(i.control)
	for first := true; ; first = false {
		var next report
		if err := reports.Decode(&next); err != nil {
			if first {
				i.began <- errDied
			}
			return last
		}
		last = next
		if first && last.Kind == reportStarted {
			i.began <- nil
		} else if first {
			i.began <- last.failure()
		}
	}
}

// failure is what the supervisor could not do, with the kernel's own word.
func (r report) failure() error {
	if r.Errno == 0 {
		return errors.New(r.Error)
	}
	return failedStep(r.Step, syscall.Errno(r.Errno))
}

// classify says how the sandbox ended.
func (i *instance) classify(last report, status syscall.WaitStatus, waitErr error) (sandbox.ExitStatus, error) {
	starved := i.group.outOfMemory()
	if last.Kind == reportEnded {
		// By itself, even if Close came at the same time.
		signal := syscall.Signal(last.Signal)
		switch {
		case last.Signal == 0:
			return sandbox.ExitStatus{Reason: sandbox.Exited, Code: last.Code}, nil
		case signal == syscall.SIGKILL && starved:
			return sandbox.ExitStatus{Reason: sandbox.OutOfMemory, Code: -1, Signal: unix.SignalName(signal)}, nil
		}
		return sandbox.ExitStatus{Reason: sandbox.Signalled, Code: -1, Signal: unix.SignalName(signal)}, nil
	}
	if i.closed.Load() {
		return sandbox.ExitStatus{Reason: sandbox.Killed, Code: -1, Signal: "SIGKILL"}, nil
	}
	// The first process itself was killed: by the kernel, or from outside.
	if waitErr != nil {
		return sandbox.ExitStatus{}, fmt.Errorf("native: wait for the sandbox: %w", waitErr)
	}
	switch {
	case status.Signaled() && starved:
		return sandbox.ExitStatus{Reason: sandbox.OutOfMemory, Code: -1, Signal: unix.SignalName(status.Signal())}, nil
	case status.Signaled():
		return sandbox.ExitStatus{Reason: sandbox.Signalled, Code: -1, Signal: unix.SignalName(status.Signal())}, nil
	}
	return sandbox.ExitStatus{Reason: sandbox.Exited, Code: status.ExitStatus()}, nil
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
	_ = i.input.Close()
	if err := i.first.kill(); err != nil {
		return fmt.Errorf("native: kill the sandbox: %w", err)
	}
	return nil
}

// discard closes this process's ends of the streams of a sandbox that nobody
// will use.
func (i *instance) discard() {
	for _, file := range []*os.File{i.input, i.channel.file, i.output.file, i.control} {
		if file != nil {
			_ = file.Close()
		}
	}
}

// duplex joins the two directions of the channel. Closing it ends the runner's
// input; its output can be read on.
type duplex struct {
	io.Reader
	io.WriteCloser
}

// source is the read end of a pipe. It gives its descriptor back at the end of
// the data, which comes when the last process of the sandbox is gone; one that
// nobody reads to the end goes with the instance.
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
