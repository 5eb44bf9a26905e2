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
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
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
	// settle is how long changes of the tool list are gathered.
	settle time.Duration
}

var defaultTiming = timing{
	minBackoff: time.Second,
	maxBackoff: time.Minute,
	stable:     10 * time.Second,
	keepAlive:  15 * time.Second,
	ping:       5 * time.Second,
	settle:     50 * time.Millisecond,
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

// run is the supervisor.
func (s *Session) run() {
	defer s.settleOnce.Do(func() { close(s.settled) })
	pause := &backoff.ExponentialBackOff{
		InitialInterval:     s.timing.minBackoff,
		MaxInterval:         s.timing.maxBackoff,
		Multiplier:          2,
		RandomizationFactor: 0.3,
	}
	atOnce := true // the first loss after a stable connection costs no wait
	for s.ctx.Err() == nil {
		err := s.connect(func(lasted time.Duration) {
			if lasted >= s.timing.stable {
				pause.Reset()
				atOnce = true
			}
		})
		if s.ctx.Err() != nil {
			break
		}
		if err == nil && atOnce {
			atOnce = false
			continue
		}
		delay := pause.NextBackOff()
		s.config.Logger.Debug("reconnecting", "in", delay)
		s.pause(delay)
	}
	s.down(s.end())
}

// pause waits before the next attempt, or until the user has signed in.
func (s *Session) pause(delay time.Duration) {
	ctx, cancel := context.WithTimeout(s.ctx, delay)
	defer cancel()
	if s.config.Credentials != nil {
		s.config.Credentials.Renewed(ctx)
		return
	}
	<-ctx.Done()
}

// connect makes one attempt and, if it succeeds, stays until the connection is
// lost; then it returns nil.
func (s *Session) connect(ended func(lasted time.Duration)) error {
	began := time.Now()
	conn, err := s.dial()
	if err != nil {
		if s.ctx.Err() == nil {
			if s.down(err) { // else it failed the same way before
				s.config.Logger.Warn("could not connect", "error", err)
			}
			s.settleOnce.Do(func() { close(s.settled) })
		}
		return err
	}
	defer conn.close()
	tools, listErr := s.list(conn)
	if conn.lost() == nil && s.ctx.Err() == nil {
		s.update(func(st *Status) bool {
			*st = Status{
				State: Connected, Err: listErr, Tools: tools,
				Protocol: conn.info.ProtocolVersion, ServerName: conn.info.ServerInfo.Name, ServerVersion: conn.info.ServerInfo.Version,
				Resources: conn.info.Capabilities.Resources != nil, Prompts: conn.info.Capabilities.Prompts != nil,
				ResourcesRevision: st.ResourcesRevision + 1, PromptsRevision: st.PromptsRevision + 1,
				ConnectDuration: time.Since(began), Generation: st.Generation,
			}
			s.conn = conn
			return true
		})
		s.config.Logger.Info("connected", "tools", len(tools), "protocol", conn.info.ProtocolVersion, "after", time.Since(began).Round(time.Millisecond))
		s.settleOnce.Do(func() { close(s.settled) })
		s.serve(conn, listErr != nil)
	}
	if s.ctx.Err() == nil {
		cause := conn.lost()
		s.config.Logger.Warn("connection lost", "error", cause)
		s.down(cause)
		s.settleOnce.Do(func() { close(s.settled) })
	}
	ended(time.Since(began))
	return nil
}

// dial connects within the connect timeout. A server that ends during the
// handshake gets the older handshake next, the first time at once: some do not
// survive a request they do not know.
func (s *Session) dial() (*connection, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.config.ConnectTimeout)
	defer cancel()
	conn, err := dial(ctx, s.config, s.freshStderr(), s.offersChanged, s.legacy)
	if errors.Is(err, errDied) && ctx.Err() == nil {
		first := !s.legacy
		if s.legacy = !s.legacy; first {
			conn, err = dial(ctx, s.config, s.freshStderr(), s.offersChanged, s.legacy)
		}
	}
	return conn, err
}

func (s *Session) freshStderr() *lastLines {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stderr = &lastLines{}
	return s.stderr
}

// list reads the tool list within the list timeout.
func (s *Session) list(conn *connection) ([]Tool, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.config.ListTimeout)
	defer cancel()
	tools, err := conn.listTools(ctx)
	if err != nil && conn.lost() == nil && s.ctx.Err() == nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("tools/list: no answer within %v", s.config.ListTimeout)
		}
		s.config.Logger.Warn("could not read the tool list", "error", err)
	}
	return tools, err
}

// serve watches a connection until it is lost or the session is closed.
func (s *Session) serve(conn *connection, listFailed bool) {
	var relist <-chan time.Time // nil while no listing is due
	soon := func() {
		if relist == nil { // or a flood of notifications would put it off for ever
			relist = time.After(s.timing.settle)
		}
	}
	pause := &backoff.ExponentialBackOff{
		InitialInterval: s.timing.minBackoff, MaxInterval: s.timing.maxBackoff,
		Multiplier: 2, RandomizationFactor: 0.3,
	}
	if listFailed {
		relist = time.After(pause.NextBackOff())
	}
	var keepAlive <-chan time.Time
	if s.config.Transport != "stdio" { // a process says when it ends
		ticker := time.NewTicker(s.timing.keepAlive)
		defer ticker.Stop()
		keepAlive = ticker.C
	}
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-conn.link.lifetime().Done():
			return
		case <-keepAlive:
			if conn.idle(s.timing.keepAlive) {
				conn.check(s.ctx, s.timing.ping)
			}
		case <-conn.disturbed:
			conn.check(s.ctx, s.timing.ping)
			soon()
		case <-conn.listChanged:
			soon()
		case <-relist:
			relist = nil
			tools, err := s.list(conn)
			if conn.lost() != nil || s.ctx.Err() != nil {
				continue
			}
			if err != nil {
				relist = time.After(pause.NextBackOff())
			} else {
				pause.Reset()
			}
			s.relisted(conn, tools, err)
		}
	}
}

// relisted publishes a tool list that was read again. After an error the old
// one stays.
func (s *Session) relisted(conn *connection, tools []Tool, err error) {
	s.update(func(st *Status) bool {
		switch {
		case s.conn != conn:
			return false
		case err != nil:
			changed := st.Err == nil || st.Err.Error() != err.Error()
			st.Err = err
			return changed
		default:
			changed := st.Err != nil || !sameTools(tools, st.Tools)
			st.Err, st.Tools = nil, tools
			return changed
		}
	})
}

func sameTools(a, b []Tool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if string(a[i].Raw) != string(b[i].Raw) {
			return false
		}
	}
	return true
}

// drop takes a lost connection out of use at once, where the supervisor has
// not done so yet.
func (s *Session) drop(conn *connection, cause error) {
	s.update(func(st *Status) bool {
		if s.conn != conn {
			return false
		}
		s.conn = nil
		st.State, st.Err, st.Tools = Down, cause, nil
		return true
	})
}

// down is the supervisor's word that there is no connection. It reports whether
// that, or the cause, is new.
func (s *Session) down(cause error) bool {
	return s.update(func(st *Status) bool {
		changed := st.State != Down || st.Err == nil || st.Err.Error() != cause.Error()
		s.conn = nil
		st.State, st.Err, st.Tools = Down, cause, nil
		return changed
	})
}

// update changes the status and, if change says that it did, tells everybody.
func (s *Session) update(change func(*Status) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !change(&s.status) {
		return false
	}
	s.status.Generation++
	close(s.changed)
	s.changed = make(chan struct{})
	poke(s.notify)
	return true
}

// announce calls the functions given to OnChange.
func (s *Session) announce() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.notify:
		}
		s.mu.Lock()
		functions := append([]func(){}, s.onChange...)
		s.mu.Unlock()
		for _, f := range functions {
			f()
		}
	}
}
