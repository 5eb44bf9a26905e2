// Package downstream owns the sessions with the user's MCP servers: one
// supervised session per configured server, which connects in the background,
// reconnects, follows the server's tool list, and passes results on as raw
// JSON.
//
// It knows nothing of callable names, filters, programs or sandboxes; it never
// decodes a result, and it retries no call.
package downstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// timing holds the supervisor's intervals; tests shorten them.
type timing struct {
	minBackoff, maxBackoff time.Duration
	// stable is how long a connection must have lasted for the next loss to be
	// taken as the first.
	stable time.Duration
	// keepAlive is after how much silence a remote server is pinged.
	keepAlive time.Duration
	// ping is how long a server may take to show that it is alive.
	ping time.Duration
	// relist is the least time between two readings of the tool list: a change
	// is read at once, and those of a flood are gathered.
	relist time.Duration
}

var defaultTiming = timing{
	minBackoff: time.Second,
	maxBackoff: time.Minute,
	stable:     10 * time.Second,
	keepAlive:  15 * time.Second,
	ping:       5 * time.Second,
	relist:     25 * time.Millisecond,
}

// Session is the supervised session with one server. Its methods may be called
// from any goroutine.
type Session struct {
	config Config
	timing timing
	queue  queue

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	start  sync.Once

	settled    chan struct{}
	settleOnce sync.Once
	notify     chan struct{} // capacity 1: the status changed

	mu       sync.Mutex
	status   Status
	conn     *connection   // nil unless status.State is Connected
	stderr   *lastLines    // of the last process
	changed  chan struct{} // closed and replaced with each change
	onChange []func()

	removed error // why the server is no longer wanted; guarded by mu

	legacy bool // run's own: what the next handshake tries
}

// New makes a session that does nothing until Start.
func New(config Config) *Session {
	ctx, cancel := context.WithCancel(context.Background())
	return &Session{
		config:  config.withDefaults(),
		timing:  defaultTiming,
		queue:   newQueue(config),
		ctx:     ctx,
		cancel:  cancel,
		settled: make(chan struct{}),
		notify:  make(chan struct{}, 1),
		stderr:  &lastLines{},
		changed: make(chan struct{}),
	}
}

// Start connects in the background and supervises the connection until Close.
func (s *Session) Start() {
	s.start.Do(func() {
		s.wg.Go(s.run)
		s.wg.Go(s.announce)
	})
}

// Name returns the configured name.
func (s *Session) Name() string { return s.config.Name }

// Status returns a snapshot.
func (s *Session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.Stderr = s.stderr.String()
	return status
}

// Settled is closed when the first attempt to connect, with its tools/list,
// has ended either way, or the session is closed.
func (s *Session) Settled() <-chan struct{} { return s.settled }

// Connected waits until calls can be made. Its error is ctx's, or ErrDown when
// the session is closed.
func (s *Session) Connected(ctx context.Context) error {
	for {
		s.mu.Lock()
		connected, changed := s.conn != nil, s.changed
		s.mu.Unlock()
		if connected {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ctx.Done():
			return brokenError(ErrDown, errClosed)
		}
	}
}

// OnChange adds a function that is called after the state, the error or the
// tool list changed: never twice at the same time, and once for changes that
// follow each other closely. It must not call Close.
func (s *Session) OnChange(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onChange = append(s.onChange, f)
}

// Call calls a tool and returns the raw CallToolResult object; its JSON is
// well-formed, and nothing else about it is checked. arguments is a JSON
// object, or nil for none. Ending ctx cancels the request at the server. Beyond
// Config.MaxConcurrentCalls a call waits for its turn first.
//
// Errors are ErrDown, ErrLost, a *TooLargeError, an *RPCError, ctx's error, or
// describe an answer that makes no sense. After ErrLost the session is either
// down and will come back (see Connected) or has been found to work still.
func (s *Session) Call(ctx context.Context, toolName string, arguments json.RawMessage) (json.RawMessage, error) {
	return s.use(ctx, func(conn *connection) (json.RawMessage, error) {
		return conn.callTool(ctx, toolName, arguments, nil)
	})
}

// CallWithProgress is Call, and progress is called with the parameters of each
// progress notification about it, one after the other, from the goroutine that
// reads: it must not block. None comes after CallWithProgress has returned.
func (s *Session) CallWithProgress(ctx context.Context, toolName string, arguments json.RawMessage, progress func(params json.RawMessage)) (json.RawMessage, error) {
	return s.use(ctx, func(conn *connection) (json.RawMessage, error) {
		return conn.callTool(ctx, toolName, arguments, progress)
	})
}

// use makes a request on the present connection, and finds out about the
// connection when the request was lost.
func (s *Session) use(ctx context.Context, request func(*connection) (json.RawMessage, error)) (json.RawMessage, error) {
	conn, err := s.connection()
	if err != nil {
		return nil, err
	}
	leave, err := s.queue.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if conn.lost() != nil { // while the call waited
		if conn, err = s.connection(); err != nil {
			return nil, err
		}
	}
	result, err := request(conn)
	if errors.Is(err, ErrLost) || errors.Is(err, ErrDown) {
		conn.check(ctx, s.timing.ping)
		if cause := conn.lost(); cause != nil {
			s.drop(conn, cause)
		}
	}
	return result, err
}

// connection returns the connection, or an ErrDown.
func (s *Session) connection() (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil, brokenError(ErrDown, s.status.Err)
	}
	return s.conn, nil
}

// Close ends the session. It leaves no process, takes about two seconds at
// most, and may be called more than once.
func (s *Session) Close() error {
	s.cancel()
	s.start.Do(func() {}) // a later Start does nothing
	s.wg.Wait()
	s.settleOnce.Do(func() { close(s.settled) })
	return nil
}

// Remove is Close for a server that is no longer configured: calls in flight
// end at once, and say the reason.
func (s *Session) Remove(reason error) error {
	s.mu.Lock()
	s.removed = reason
	conn := s.conn
	s.mu.Unlock()
	if conn != nil {
		conn.link.fail(reason)
	}
	return s.Close()
}

// end is why the session is over.
func (s *Session) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.removed, errClosed)
}
