package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// maxGone bounds the removed servers that are remembered.
const maxGone = 100

// SetServers replaces the servers of the catalogue, in the order of the
// configuration, and follows those that are new. What is known of the others
// stays, and the change is complete for every reader when it returns. Calls in
// flight go on; it is for the caller to close the servers that it left out. It
// fails, and changes nothing, when two servers have the same name.
func (r *Registry) SetServers(servers []Server) error {
	names := make([]string, len(servers))
	for i, s := range servers {
		if slices.Contains(names[:i], s.Name()) {
			return fmt.Errorf("servers: two are named %q; give each its own name", s.Name())
		}
		names[i] = s.Name()
	}
	r.mu.Lock()
	old := r.current.Load()
	views := make([]*view, len(servers))
	var added []Server
	for i, part := range serverParts(names) {
		v := old.viewOf(servers[i])
		if v == nil {
			added = append(added, servers[i])
		}
		if v == nil || v.part != part {
			// Names of tools begin with the part, so they are made anew with it.
			v = &view{member: &member{Server: servers[i], part: part, prefix: tool.Prefix + part + separator}}
		}
		views[i] = v.next(r.filter, r.logger)
	}
	next := newSnapshot(views)
	next.gone = old.goneAfter(views)
	r.current.Store(next)
	r.warnAbout(views)
	listeners := slices.Clone(r.listeners)
	r.mu.Unlock()

	for _, s := range added {
		s.OnChange(func() { r.refresh() })
	}
	if !r.refresh() { // which tells them, for what came before it was followed
		for _, f := range listeners {
			f()
		}
	}
	return nil
}

func (s *snapshot) viewOf(server Server) *view {
	for _, v := range s.views {
		if v.Server == server {
			return v
		}
	}
	return nil
}

// goneAfter are the servers, the last ones first, that are not among the next.
func (s *snapshot) goneAfter(next []*view) []*member {
	var gone []*member
	for _, v := range s.views {
		gone = append(gone, v.member)
	}
	gone = slices.DeleteFunc(append(gone, s.gone...), func(m *member) bool {
		return slices.ContainsFunc(next, func(v *view) bool { return v.Name() == m.Name() })
	})
	return gone[:min(len(gone), maxGone)]
}

// removed finds the server that is gone to which a tool's name belongs.
func (s *snapshot) removed(name string) *member {
	for _, m := range s.gone {
		for _, prefix := range []string{m.prefix, callableName(m.Name(), "")} {
			if strings.HasPrefix(name, prefix) {
				return m
			}
		}
	}
	return nil
}
