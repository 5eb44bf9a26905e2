package docker_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// proxy is a socket in front of the real engine that can be made to hang or
// to go away, as an engine does that is stopped or killed.
type proxy struct {
	t    *testing.T
	path string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
	hung     chan struct{} // closed while bytes pass
}

// newProxy starts a proxy; its socket is at host().
func newProxy(t *testing.T) *proxy {
	t.Helper()
	folder, err := os.MkdirTemp("", "engine") // short: a socket's path holds 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, path: filepath.Join(folder, "s"), conns: map[net.Conn]bool{}, hung: make(chan struct{})}
	close(p.hung)
	p.up()
	t.Cleanup(func() {
		p.resume()
		p.down()
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *proxy) host() string { return "unix://" + p.path }

// up listens.
func (p *proxy) up() {
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
			go p.serve(conn)
		}
	}()
}

// down ends all connections and listens no more, as a killed engine does.
func (p *proxy) down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.listener.Close()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// hang lets no byte pass from now on, as a stopped engine does.
func (p *proxy) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hung = make(chan struct{})
}

func (p *proxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.hung:
	default:
		close(p.hung)
	}
}

func (p *proxy) keep(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[conn] = true
}

func (p *proxy) serve(conn net.Conn) {
	defer conn.Close()
	engine, err := net.Dial("unix", engineSocket())
	if err != nil {
		return
	}
	defer engine.Close()
	p.keep(conn)
	p.keep(engine)
	var group sync.WaitGroup
	group.Go(func() { p.copy(engine, conn) })
	group.Go(func() { p.copy(conn, engine) })
	group.Wait()
}

func (p *proxy) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		hung := p.hung
		p.mu.Unlock()
		<-hung
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			_ = to.(*net.UnixConn).CloseWrite()
			return
		}
		if err != nil {
			return
		}
	}
}
