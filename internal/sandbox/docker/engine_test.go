package docker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
)

// noticed is the time in which an engine that does not answer must be noticed,
// 2 seconds, and what a loaded machine adds.
const noticed = 6 * time.Second

// startFails starts a sandbox that cannot be had.
func startFails(t *testing.T, backend *docker.Backend, says string) {
	t.Helper()
	began := time.Now()
	_, err := backend.Start(t.Context(), sandbox.Spec{})
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "sandbox: native") {
		t.Errorf("got %v, want one that wraps ErrUnavailable, says %q and the ways out", err, says)
	}
	if took := time.Since(began); took > noticed {
		t.Errorf("noticed after %v", took)
	}
}

// runs starts a sandbox, waits for its hello and closes it.
func runs(t *testing.T, backend *docker.Backend) {
	t.Helper()
	instance, err := backend.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(instance.Channel(), make([]byte, 5)); err != nil {
		t.Error(err)
	}
	if err := instance.Close(); err != nil {
		t.Error(err)
	}
	if _, err := instance.Wait(); err != nil {
		t.Error(err)
	}
}

func behind(t *testing.T, p *proxy) *docker.Backend {
	t.Helper()
	return newBackend(t, func(c *docker.Config) { c.Host = p.host() })
}

func TestAnEngineThatIsNotThereIsAnErrorWithTheRemedy(t *testing.T) {
	backend := newBackend(t, func(c *docker.Config) { c.Host = "unix://" + filepath.Join(t.TempDir(), "none.sock") })
	startFails(t, backend, "docker.host in the configuration")
	if _, err := backend.Probe(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("Probe: got %v", err)
	}
}

func TestAnEngineThatNeverAnswersIsNoticedByAllAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	backend := newBackend(t, func(c *docker.Config) { c.Host = "unix://" + path })
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { startFails(t, backend, "does not answer") })
	}
	group.Wait()
}

func TestAnEngineThatComesBackIsUsedAgain(t *testing.T) {
	p := newProxy(t)
	backend := behind(t, p)
	runs(t, backend)
	p.down()
	startFails(t, backend, "start Docker")
	p.up()
	runs(t, backend)
}

func TestAnEngineThatWasRestartedBetweenRunsIsNotAnError(t *testing.T) {
	p := newProxy(t)
	backend := behind(t, p)
	runs(t, backend)
	p.down()
	p.up()
	runs(t, backend)
}

func TestAnEngineThatHangsIsNoticedAndUsedAgainLater(t *testing.T) {
	p := newProxy(t)
	backend := behind(t, p)
	runs(t, backend)
	p.hang()
	var group sync.WaitGroup
	for range 12 { // more than start at once
		group.Go(func() { startFails(t, backend, "does not answer") })
	}
	group.Wait()
	p.resume()
	runs(t, backend)
	closeBackend(t, backend)
	if left := docker.Containers(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestASandboxWhoseEngineGoesAwayEndsAndIsRemovedLater(t *testing.T) {
	p := newProxy(t)
	backend := behind(t, p)
	backend.SetProgram("import os, time\nos.write(2, b'before')\nos.write(1, b'ready')\ntime.sleep(10000)")
	instance, err := backend.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(instance.Channel(), make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	output := make([]byte, len("before"))
	if _, err := io.ReadFull(instance.Output(), output); err != nil || string(output) != "before" {
		t.Fatalf("got output %q, %v", output, err)
	}
	p.down()
	if _, err := instance.Wait(); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("Wait: got %v, want that the engine went away", err)
	}
	within(t, "the end of the streams", func() {
		_, _ = io.Copy(io.Discard, instance.Channel()) // broken, or at its end
		_, _ = io.Copy(io.Discard, instance.Output())
	})
	if err := instance.Close(); err != nil {
		t.Error(err)
	}
	if len(docker.Containers(t)) != 1 {
		t.Errorf("want the container still there, got %v", docker.Containers(t))
	}
	p.up()
	if _, err := backend.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	closeBackend(t, backend)
	if left := docker.Containers(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestClosingTheBackendDuringStartLeavesNothing(t *testing.T) {
	backend := newBackend(t, nil)
	if _, err := backend.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		group.Go(func() {
			defer cancel()
			if instance, err := backend.Start(ctx, sandbox.Spec{}); err == nil {
				if err := instance.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	closeBackend(t, backend)
	group.Wait()
	closeBackend(t, backend)
	if _, err := backend.Start(t.Context(), sandbox.Spec{}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("Start after Close: got %v", err)
	}
	if left := docker.Containers(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func closeBackend(t *testing.T, backend *docker.Backend) {
	t.Helper()
	if err := backend.Close(); err != nil {
		t.Errorf("close backend: %v", err)
	}
}

// within fails the test when f hangs.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("waited in vain for %s", what)
	}
}
