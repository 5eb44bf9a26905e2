package downstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

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
				Completions:       conn.info.Capabilities.Completions != nil,
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
	listed := time.Now()
	soon := func() {
		if relist == nil { // or a flood of notifications would put it off for ever
			relist = time.After(s.timing.relist - time.Since(listed))
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
			listed = time.Now()
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
		s.goDown(st, cause)
		return true
	})
}

// down is the supervisor's word that there is no connection. It reports whether
// that, or the cause, is new.
func (s *Session) down(cause error) bool {
	return s.update(func(st *Status) bool {
		changed := st.State != Down || st.Err == nil || st.Err.Error() != cause.Error()
		s.goDown(st, cause)
		return changed
	})
}

// goDown notes that there is no connection. mu is held.
func (s *Session) goDown(st *Status, cause error) {
	if s.conn != nil {
		st.Lost = time.Now()
	}
	s.conn = nil
	st.State, st.Err, st.Tools = Down, cause, nil
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
