//go:build linux

package escape

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker/dockertest"
)

// engineError is how long a run may take to fail without an engine: 2 seconds,
// and what a loaded machine adds.
const engineError = 2*time.Second + 3*time.Second

// TestTheServerOutlivesItsEngine takes the engine away from a serving ptc-mcp,
// during a run and between runs, and gives it back.
func TestTheServerOutlivesItsEngine(t *testing.T) {
	t.Parallel()
	image := dockertest.Require(t)
	client := dockerClient(t)
	engine := newEngineProxy(t)
	config := filepath.Join(t.TempDir(), "config.yaml")
	write(t, config, fmt.Sprintf("execution:\n  sandbox: docker\ndocker:\n  host: %q\n  image: %s\n  pull: never\n", engine.host(), image))
	s := startServer(t, config)

	works := func(when string) {
		t.Helper()
		if text, failed, answered := s.run("print(6 * 7)"); failed || !answered || !strings.Contains(text, "42") {
			t.Fatalf("%s, a run gives %q", when, text)
		}
	}
	works("at first")

	// During a run.
	started := make(chan string)
	go func() {
		text, failed, answered := s.run("import time\nprint('started', flush=True)\ntime.sleep(600)")
		if !failed || !answered {
			text = "no failure: " + text
		}
		started <- text
	}()
	waitUntilNone(t, func(t *testing.T) []string {
		for _, c := range listed(t, client, s.pid()) {
			if c.State == container.StateRunning {
				return nil
			}
		}
		return []string{"a run that has not begun"}
	})
	engine.down()
	began := time.Now()
	text := <-started
	if took := time.Since(began); took > engineError {
		t.Errorf("a run whose engine went away ended after %v", took)
	}
	if !strings.Contains(text, "the engine went away") && !strings.Contains(text, "was not run") {
		t.Errorf("a run whose engine went away says %q", text)
	}

	// Between runs.
	began = time.Now()
	text, failed, answered := s.run("print(1)")
	if took := time.Since(began); took > engineError {
		t.Errorf("a run without an engine failed after %v", took)
	}
	if !failed || !answered || !strings.Contains(text, engine.path) {
		t.Errorf("a run without an engine says %q", text)
	}
	if _, ok := s.request("ping", "{}"); !ok {
		t.Fatal("the server did not outlive its engine")
	}

	engine.up()
	works("with the engine back")
	s.stop(t)
	// A container that the engine was just making when it was lost may only
	// have come into being afterwards: the next start finds it.
	next := startServer(t, config)
	if text, failed, answered := next.run("print(6 * 7)"); failed || !answered {
		t.Fatalf("after another start, a run gives %q", text)
	}
	waitUntilNone(t, func(t *testing.T) []string { return containers(t, client, s.pid()) })
	next.stop(t)
	waitUntilNone(t, func(t *testing.T) []string { return containers(t, client, next.pid()) })
}

// engineProxy is a socket in front of the real engine that can go away, as a
// killed engine's does.
type engineProxy struct {
	t    *testing.T
	path string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
}

func newEngineProxy(t *testing.T) *engineProxy {
	t.Helper()
	folder, err := os.MkdirTemp("", "engine") // short: a socket's path holds 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	p := &engineProxy{t: t, path: filepath.Join(folder, "s"), conns: map[net.Conn]bool{}}
	p.up()
	t.Cleanup(func() {
		p.down()
		_ = os.RemoveAll(folder)
	})
	return p
}

func (p *engineProxy) host() string { return "unix://" + p.path }

// up listens.
func (p *engineProxy) up() {
	p.t.Helper()
	listener, err := net.Listen("unix", p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.listener = listener
	p.mu.Unlock()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.pass(conn)
		}
	}()
}

// down ends all connections and listens no more.
func (p *engineProxy) down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
	}
	p.listener = nil
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// engineSocket is where the engine that is tested with listens.
func engineSocket() string {
	if path, local := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); local {
		return path
	}
	return "/var/run/docker.sock"
}

// pass carries one connection to the engine and back.
func (p *engineProxy) pass(front net.Conn) {
	back, err := net.Dial("unix", engineSocket())
	if err != nil {
		_ = front.Close()
		return
	}
	p.mu.Lock()
	p.conns[front], p.conns[back] = true, true
	if p.listener == nil {
		_, _ = front.Close(), back.Close() // it came with the end
	}
	p.mu.Unlock()
	var wg sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{front: back, back: front} {
		wg.Go(func() {
			_, _ = io.Copy(to, from)
			if half, ok := to.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite() // the other direction may go on
			}
		})
	}
	wg.Wait()
	_, _ = front.Close(), back.Close()
	p.mu.Lock()
	delete(p.conns, front)
	delete(p.conns, back)
	p.mu.Unlock()
}
