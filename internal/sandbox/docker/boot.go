package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// errAbandoned ends a boot that nobody waits for any more.
var errAbandoned = errors.New("start abandoned")

// boot makes and starts one container. It is never interrupted inside a call
// to the engine, whose effect would then be unknown, so ctx is never cancelled:
// closing abandoned ends it between two calls, and leaves nothing behind.
func (b *Backend) boot(ctx context.Context, abandoned <-chan struct{}, e *engine, spec sandbox.Spec) (*instance, error) {
	image, err := b.image(ctx, abandoned, e)
	if err != nil {
		return nil, err
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-abandoned:
		return nil, errAbandoned
	case <-e.down:
		return nil, e.downError()
	}
	for {
		known := e.knownQuirks()
		i, err := b.bootOnce(ctx, abandoned, e, image, spec, known)
		if err != nil && (e.learnsFrom(err, b.config.Logger) || e.knownQuirks() != known) {
			continue // with what this boot, or one beside it, has learnt
		}
		if err != nil && errdefs.IsNotFound(err) {
			e.forgetImage()
		}
		return i, err
	}
}

// bootOnce goes through the steps in the only order that loses nothing: attach
// and ask for the exit before the start.
func (b *Backend) bootOnce(ctx context.Context, abandoned <-chan struct{}, e *engine, image *localImage, spec sandbox.Spec, known quirks) (_ *instance, err error) {
	o := options{
		image:   image.id,
		runtime: b.config.Runtime,
		command: b.command,
		labels:  self().labels(),
		spec:    spec,
		volumes: image.volumes,
		quirks:  known,
	}
	host, err := o.hostConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
	}
	// A name of our own, because an engine that is lost during the call may
	// have made the container and not have told its id.
	name := "ptc-mcp-" + strings.ToLower(rand.Text()[:16])
	defer func() { //nolint:contextcheck // a removal has its own time
		if err != nil {
			b.remove(e, name)
		}
	}()
	if _, err := e.client.ContainerCreate(ctx, o.config(), host, nil, nil, name); err != nil {
		return nil, e.step("create container", err)
	}
	if isClosed(abandoned) {
		return nil, errAbandoned
	}
	stream, err := e.client.ContainerAttach(ctx, name, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return nil, e.step("attach to container", e.refusal(ctx, name, err))
	}
	waiting, stopWaiting := context.WithCancel(ctx)
	exits, failures := e.client.ContainerWait(waiting, name, container.WaitConditionNextExit)
	if isClosed(abandoned) {
		err = errAbandoned
	} else if err = e.client.ContainerStart(ctx, name, container.StartOptions{}); err != nil {
		err = e.step("start container", err)
	}
	if err != nil {
		stopWaiting()
		go discard(exits, failures)
		stream.Close()
		return nil, err
	}
	i := newInstance(b, e, name, stream)
	go i.carry()
	go i.watch(exits, failures, stopWaiting) //nolint:contextcheck // it lives as long as the container
	return i, nil
}

// refusal is why a container cannot be attached to. Podman prepares it only
// then, and the client keeps the engine's words to itself: a start that is
// bound to fail too repeats them.
func (e *engine) refusal(ctx context.Context, name string, err error) error {
	if isLost(err) {
		return err
	}
	if reason := e.client.ContainerStart(ctx, name, container.StartOptions{}); reason != nil {
		return reason
	}
	return err
}

// discard takes the answer of a wait that nobody needs, so that its goroutine
// in the client ends.
func discard(exits <-chan container.WaitResponse, failures <-chan error) {
	select {
	case <-exits:
	case <-failures: //nolint:errcheck // nobody needs to know
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

// exitStatus reads an exit code the way an engine gives it: 128 and a signal's
// number for a process that a signal ended, with the engine's own init too.
func exitStatus(code int64, outOfMemory bool) sandbox.ExitStatus {
	const signalled, sigkill, lastSignal = 128, 9, 64
	switch {
	case code == signalled+sigkill && outOfMemory:
		// The flag alone says only that some process was ended for its memory,
		// the code alone only that it was killed.
		return sandbox.ExitStatus{Reason: sandbox.OutOfMemory, Code: -1, Signal: "SIGKILL"}
	case code > signalled && code <= signalled+lastSignal:
		return sandbox.ExitStatus{Reason: sandbox.Signalled, Code: -1, Signal: signalName(int(code - signalled))}
	}
	return sandbox.ExitStatus{Reason: sandbox.Exited, Code: int(code)}
}

// linuxSignals are the signals that end a process, by their number on Linux:
// the machine that runs the containers, whatever this one is.
var linuxSignals = map[int]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
	9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
	16: "SIGSTKFLT", 24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 29: "SIGIO", 30: "SIGPWR", 31: "SIGSYS",
}

func signalName(number int) string {
	if name, ok := linuxSignals[number]; ok {
		return name
	}
	return fmt.Sprintf("signal %d", number)
}
