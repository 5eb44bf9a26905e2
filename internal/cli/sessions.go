package cli

import (
	"errors"
	"reflect"
	"slices"
	"sync"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/registry"
)

// Why a session ends while ptc-mcp serves.
var (
	errServerRemoved = errors.New("the server is no longer configured")
	errServerChanged = errors.New("the server's configuration has changed, and it is started anew")
)

// sessions are the sessions with the servers in use, which may change.
type sessions struct {
	open func(config.Server) *downstream.Session

	mu      sync.Mutex
	list    []session // in the order of the configuration
	started bool
	closed  bool
	ending  sync.WaitGroup // sessions that were replaced
}

type session struct {
	config config.Server
	*downstream.Session
}

func newSessions(open func(config.Server) *downstream.Session) *sessions {
	return &sessions{open: open}
}

// all returns the present sessions, in the order of the configuration.
func (s *sessions) all() []*downstream.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*downstream.Session
	for _, one := range s.list {
		all = append(all, one.Session)
	}
	return all
}

// start has every server connect, in the background, and from now on every
// server that is added.
func (s *sessions) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = true
	for _, one := range s.list {
		one.Start()
	}
}

// replace keeps the sessions of servers whose configuration is the same,
// publishes the new list, and only then connects what is new and ends, in the
// background, what is left out.
func (s *sessions) replace(servers []config.Server, publish func([]registry.Server) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	left := slices.Clone(s.list)
	next := make([]session, len(servers))
	public := make([]registry.Server, len(servers))
	for i, server := range servers {
		if at := slices.IndexFunc(left, func(one session) bool { return reflect.DeepEqual(one.config, server) }); at >= 0 {
			next[i] = left[at]
			left = slices.Delete(left, at, at+1)
		} else {
			next[i] = session{server, s.open(server)}
		}
		public[i] = next[i].Session
	}
	if err := publish(public); err != nil {
		return err
	}
	s.list = next
	if s.started {
		for _, one := range next {
			one.Start()
		}
	}
	for _, one := range left {
		reason := errServerRemoved
		if slices.ContainsFunc(servers, func(server config.Server) bool { return server.Name == one.config.Name }) {
			reason = errServerChanged
		}
		s.ending.Go(func() { _ = one.Remove(reason) })
	}
	return nil
}

// Close ends all sessions, at the same time.
func (s *sessions) Close() error {
	s.mu.Lock()
	s.closed = true
	list := s.list
	s.mu.Unlock()
	errs := make([]error, len(list))
	for i, one := range list {
		s.ending.Go(func() { errs[i] = one.Close() })
	}
	s.ending.Wait()
	return errors.Join(errs...)
}
