package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/client"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// errLost marks the errors that mean "the connection broke", which a fresh one
// may mend. It has no text of its own.
var errLost = errors.New("")

const (
	// maxStarts bounds the starts under way at once on one engine: more do not
	// get through it any faster (measured), and would slow its other answers.
	maxStarts = 8
	// A local engine answers a ping in a millisecond. These two together stay
	// below two seconds, the time in which a hanging engine must be noticed.
	pingEvery   = 400 * time.Millisecond
	pingTimeout = 1400 * time.Millisecond
	// remotePingTimeout is for hosts that are reached by network or ssh, whose
	// first answer takes a handshake.
	remotePingTimeout = 10 * time.Second
)

// engine is a connection that answered. It is replaced, not mended.
type engine struct {
	endpoint endpoint
	client   *client.Client
	slots    chan struct{} // one a start under way

	mu      sync.Mutex
	waiting int           // starts under way
	idle    chan struct{} // closed when there are none any more
	image   *localImage
	err     error
	quirks  quirks

	down chan struct{} // closed when the engine does not answer any more
}

func newEngine(at endpoint, c *client.Client) *engine {
	return &engine{endpoint: at, client: c, slots: make(chan struct{}, maxStarts), down: make(chan struct{})}
}

func (at endpoint) pingTimeout() time.Duration {
	if strings.HasPrefix(at.host, "unix://") || strings.HasPrefix(at.host, "npipe://") {
		return pingTimeout
	}
	return remotePingTimeout
}

// ping asks for a sign of life, within the endpoint's time.
func (e *engine) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), e.endpoint.pingTimeout())
	defer cancel()
	_, err := e.client.Ping(ctx)
	return err
}

// greet pings for the first time and agrees on the version of the API, before
// the client is used from several goroutines: left to itself, it would do so
// in the first call of each at once.
func (e *engine) greet() error {
	ctx, cancel := context.WithTimeout(context.Background(), e.endpoint.pingTimeout())
	defer cancel()
	answer, err := e.client.Ping(ctx)
	if err == nil {
		e.client.NegotiateAPIVersionPing(answer)
	}
	return err
}

// pending counts a start until the returned function is called. As long as
// there is one, the engine is pinged, so that one which hangs is told from one
// which is busy.
func (e *engine) pending() (done func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting++; e.waiting == 1 {
		e.idle = make(chan struct{})
		go e.watch(e.idle)
	}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.waiting--; e.waiting == 0 {
			close(e.idle)
		}
	}
}

func (e *engine) watch(idle <-chan struct{}) {
	timer := time.NewTimer(pingEvery)
	defer timer.Stop()
	for {
		select {
		case <-idle:
			return
		case <-e.down:
			return
		case <-timer.C:
		}
		if err := e.ping(); err != nil {
			e.fail(err)
			return
		}
		timer.Reset(pingEvery)
	}
}

// fail declares the engine gone; the first reason counts.
func (e *engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.err = err
		close(e.down)
	}
}

func (e *engine) isDown() bool {
	select {
	case <-e.down:
		return true
	default:
		return false
	}
}

// downError is the error of everything that was under way on a lost engine.
func (e *engine) downError() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := unreachable([]attempt{{e.endpoint, e.err}})
	if isLost(e.err) {
		return fmt.Errorf("%w%w", err, errLost)
	}
	return err
}

// step adds to an engine's error what was being done. One that says the engine
// is gone takes the engine out of use.
func (e *engine) step(what string, err error) error {
	if isLost(err) {
		e.fail(err)
		return e.downError()
	}
	return fmt.Errorf("docker: %s: %w: %w", what, err, sandbox.ErrUnavailable)
}

// connect returns the engine in use, or finds one. fresh tells that it was
// found just now. All who ask at once share one search, so that an engine which
// does not answer costs its timeout once.
func (b *Backend) connect(ctx context.Context) (found *engine, fresh bool, err error) {
	if e := b.engineInUse(); e != nil {
		return e, false, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, false, fmt.Errorf("docker: connect: %w", err)
	}
	search := b.connecting.DoChan("", func() (any, error) { return b.search() }) //nolint:contextcheck // one search serves many
	select {
	case result := <-search:
		if result.Err != nil {
			return nil, false, result.Err
		}
		return result.Val.(*engine), true, nil
	case <-ctx.Done():
		return nil, false, fmt.Errorf("docker: connect: %w", ctx.Err())
	}
}

// search finds an engine, takes it into use and sweeps it.
func (b *Backend) search() (*engine, error) {
	places, err := endpoints(b.config.Host, b.env)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
	}
	e, err := firstToAnswer(places)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	previous := b.current
	b.current = e
	b.mu.Unlock()
	if previous != nil {
		_ = previous.client.Close() // only its idle connections
	}
	b.config.Logger.Debug("docker engine found", slog.String("host", e.endpoint.host), slog.String("source", e.endpoint.source))
	b.unlessClosed(func() { b.sweep(e) })
	return e, nil
}

func (b *Backend) engineInUse() *engine {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current == nil || b.current.isDown() {
		return nil
	}
	return b.current
}

// attempt is an endpoint that did not answer, and why.
type attempt struct {
	at  endpoint
	err error
}

// firstToAnswer pings all places at once and takes the first in their order
// that answers, so that several which hang cost one timeout.
func firstToAnswer(places []endpoint) (*engine, error) {
	type answer struct {
		engine *engine
		err    error
	}
	answers := make([]chan answer, len(places))
	for i, at := range places {
		answers[i] = make(chan answer, 1)
		go func() {
			c, err := at.open()
			if err != nil {
				answers[i] <- answer{nil, err}
				return
			}
			e := newEngine(at, c)
			if err := e.greet(); err != nil {
				_ = c.Close()
				answers[i] <- answer{nil, err}
				return
			}
			answers[i] <- answer{e, nil}
		}()
	}
	var failed []attempt
	for i, at := range places {
		a := <-answers[i]
		if a.err != nil {
			failed = append(failed, attempt{at, a.err})
			continue
		}
		for _, rest := range answers[i+1:] {
			go func() { // an engine further down the list is not needed
				if a := <-rest; a.engine != nil {
					_ = a.engine.client.Close()
				}
			}()
		}
		return a.engine, nil
	}
	return nil, unreachable(failed)
}

// unreachable says which places were tried, what each said and what to do.
func unreachable(failed []attempt) error {
	if len(failed) == 0 {
		return fmt.Errorf("docker: no engine found: none of the usual sockets exists and DOCKER_HOST is not set; "+
			"start Docker, set docker.host, or use `sandbox: native`: %w", sandbox.ErrUnavailable)
	}
	var said strings.Builder
	for i, a := range failed {
		if i > 0 {
			said.WriteString("; ")
		}
		fmt.Fprintf(&said, "%s (%s): %s", a.at.host, a.at.source, reason(a.err))
	}
	return fmt.Errorf("docker: no engine answers: %s; start Docker, set docker.host, or use `sandbox: native`: %w",
		said.String(), sandbox.ErrUnavailable)
}

// reason shortens the client's errors to what a user can act on.
func reason(err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "it accepts connections but does not answer"
	case strings.Contains(text, "permission denied"):
		return "permission denied; add yourself to the group that owns the socket, then log in again"
	case strings.Contains(text, "connection refused"):
		return "connection refused; the engine is not running"
	}
	return text
}
