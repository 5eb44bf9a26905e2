package docker

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// instance is one running container.
type instance struct {
	backend *Backend
	engine  *engine
	name    string
	stream  types.HijackedResponse

	frames, output *buffer
	carried        chan struct{} // closed when the attach stream has ended

	closing   chan struct{} // closed by Close
	closeOnce sync.Once
	removed   chan struct{} // closed when the removal was tried

	ended  chan struct{} // closed when status and err are set
	status sandbox.ExitStatus
	err    error
}

func newInstance(b *Backend, e *engine, name string, stream types.HijackedResponse) *instance {
	return &instance{
		backend: b,
		engine:  e,
		name:    name,
		stream:  stream,
		frames:  newBuffer(),
		output:  newBuffer(),
		carried: make(chan struct{}),
		closing: make(chan struct{}),
		removed: make(chan struct{}),
		ended:   make(chan struct{}),
	}
}

// carry moves the attach stream to its two readers until it ends.
func (i *instance) carry() {
	defer close(i.carried)
	err := demultiplex(i.stream.Reader, i.frames, i.output)
	if isClosed(i.closing) {
		err = io.EOF // cut off by us
	}
	i.frames.end(err)
	i.output.end(err)
}

// watch waits for the exit and turns it into a status.
func (i *instance) watch(exits <-chan container.WaitResponse, failures <-chan error, stopWaiting func()) {
	defer close(i.ended)
	defer stopWaiting()
	var exit container.WaitResponse
	var err error
	select {
	case exit = <-exits:
	case err = <-failures:
	case <-i.removed:
		// The engine forgot the wait, or is gone.
		go discard(exits, failures)
	}
	switch {
	case isClosed(i.closing):
		i.status = sandbox.ExitStatus{Reason: sandbox.Killed, Code: -1, Signal: "SIGKILL"}
	case err != nil:
		i.status = sandbox.ExitStatus{Reason: sandbox.Exited, Code: -1}
		i.err = fmt.Errorf("docker: the engine went away while a sandbox was running: %w: %w", err, sandbox.ErrUnavailable)
	case exit.Error != nil && exit.Error.Message != "":
		i.status = sandbox.ExitStatus{Reason: sandbox.Exited, Code: -1}
		i.err = fmt.Errorf("docker: wait for container: %s: %w", exit.Error.Message, sandbox.ErrUnavailable)
	default:
		i.status = exitStatus(exit.StatusCode, exit.StatusCode == exitKilled && i.outOfMemory())
	}
}

const (
	// exitKilled is the code of a container that SIGKILL ended.
	exitKilled = 137
	// The engine learns of an exit and of its cause by separate events: after a
	// kill the cause may be a few milliseconds late.
	causeTries = 5
	causeEvery = 20 * time.Millisecond
)

// outOfMemory asks whether the kernel ended a process for its memory.
func (i *instance) outOfMemory() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for range causeTries {
		info, err := i.engine.client.ContainerInspect(ctx, i.name)
		if err != nil || info.State == nil {
			return false // removed by now
		}
		if info.State.OOMKilled {
			return true
		}
		select {
		case <-i.closing:
			return false
		case <-time.After(causeEvery):
		}
	}
	return false
}

// Channel is the container's standard output and input.
func (i *instance) Channel() io.ReadWriteCloser { return channel{i} }

// Output is the container's standard error.
func (i *instance) Output() io.Reader { return i.output }

type channel struct{ *instance }

func (c channel) Read(p []byte) (int, error) { return c.frames.Read(p) }

func (c channel) Write(p []byte) (int, error) {
	n, err := c.stream.Conn.Write(p)
	if err != nil {
		err = fmt.Errorf("docker: write to container: %w", err)
	}
	return n, err
}

// Close ends the container's standard input only.
func (c channel) Close() error { return c.stream.CloseWrite() }

// Wait blocks until the container has ended.
func (i *instance) Wait() (sandbox.ExitStatus, error) {
	<-i.ended
	return i.status, i.err
}

// Close kills and removes the container in the background. What it had written
// by then can still be read.
func (i *instance) Close() error {
	i.shut(i.backend.work.run)
	return nil
}

// shut is Close; run says where the removal runs.
func (i *instance) shut(run func(remove func())) {
	i.closeOnce.Do(func() {
		close(i.closing)
		i.frames.release()
		i.output.release()
		_ = i.stream.Conn.SetWriteDeadline(time.Now()) // a write that nobody reads ends
		run(func() {
			i.backend.remove(i.engine, i.name)
			close(i.removed)
			i.hangUp()
		})
	})
}

// hangUp closes the connection, once its end has come through or is overdue.
func (i *instance) hangUp() {
	overdue := time.NewTimer(2 * time.Second)
	defer overdue.Stop()
	select {
	case <-i.carried:
	case <-overdue.C:
	}
	i.stream.Close()
}

var _ sandbox.Instance = (*instance)(nil)
