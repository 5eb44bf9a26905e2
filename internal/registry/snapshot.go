package registry

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// member is a configured server with what never changes about it.
type member struct {
	Server
	part   string // the server's part of callable names
	prefix string // what its tools' callable names begin with
}

// view is a server as one snapshot sees it.
type view struct {
	*member
	status downstream.Status
	// tools are the callable ones: those of now when the server is connected,
	// else the last that were known; nil when it was never connected.
	tools *toolset
}

func (v *view) listed() bool { return v.status.State == downstream.Connected && v.tools != nil }

// reason says in one line why the server is not connected; "" when it is and
// has nothing to complain about.
func (v *view) reason() string {
	switch {
	case v.status.Err != nil:
		return firstLine(v.status.Err.Error(), 300)
	case v.status.State == downstream.Connecting:
		return "connecting"
	case v.status.State == downstream.Down:
		return "connection lost"
	}
	return ""
}

// snapshot is the catalogue at one moment. It is immutable: whoever holds one
// sees the same tools listed, described and callable.
type snapshot struct {
	views    []*view // in the order of the configuration
	names    []string
	servers  []string // the parts of those with tools, sorted
	readOnly map[string]bool
	// spelled holds every tool under its callable name and under its part.
	spelled   map[string][]*entry
	wireBytes int // about the length of wire
	// Made when they are first asked for.
	list func() json.RawMessage // names as a JSON array
	wire func() json.RawMessage // the table of all tools
	gone []*member              // servers that were there once; see SetServers
}

func newSnapshot(views []*view) *snapshot {
	s := &snapshot{views: views}
	// No prefix begins with another, so the servers' sorted blocks, put in the
	// order of their prefixes, are sorted as a whole.
	listed := slices.DeleteFunc(slices.Clone(views), func(v *view) bool { return !v.listed() })
	slices.SortFunc(listed, func(a, b *view) int { return cmp.Compare(a.prefix, b.prefix) })
	count := 0
	for _, v := range listed {
		count += len(v.tools.entries)
	}
	s.names = make([]string, 0, count)
	s.servers = make([]string, 0, len(listed))
	s.readOnly = map[string]bool{tool.ListResources: true, tool.ReadResource: true, tool.ListPrompts: true, tool.GetPrompt: true}
	s.spelled = make(map[string][]*entry, 2*count)
	entries := make([]*entry, 0, count)
	for _, v := range listed {
		for _, e := range v.tools.entries {
			s.names = append(s.names, e.name)
			s.spelled[e.name] = append(s.spelled[e.name], e)
			s.spelled[e.part] = append(s.spelled[e.part], e)
			if e.readOnly() {
				s.readOnly[e.name] = true
			}
			s.wireBytes += len(e.row)
		}
		if len(v.tools.entries) > 0 {
			s.servers = append(s.servers, v.part)
		}
		entries = append(entries, v.tools.entries...)
	}
	s.list = sync.OnceValue(func() json.RawMessage { return appendStrings(nil, s.names) })
	s.wire = sync.OnceValue(func() json.RawMessage { return rowsOf(entries) })
	return s
}

// connecting reports whether a server's first attempt to connect had not ended.
func (s *snapshot) connecting() bool {
	return slices.ContainsFunc(s.views, func(v *view) bool { return v.status.State == downstream.Connecting })
}

// lost reports whether a server had lost its connection.
func (s *snapshot) lost() bool {
	return slices.ContainsFunc(s.views, func(v *view) bool { return !v.status.Lost.IsZero() })
}

// resolve finds the tool that a name stands for: a callable name, or the
// original name of server and tool joined by "__", ".", "/" or ":", in the
// original spelling or with - and _ exchanged, or a tool's name alone when
// only one server has it. The error is a *tool.Error.
func (s *snapshot) resolve(name string) (*entry, error) {
	v, e := s.lookup(name)
	if e != nil && v.listed() {
		return e, nil
	}
	if v == nil {
		if e := s.alone(name); e != nil {
			return e, nil
		}
	}
	err, _ := s.missing(name)
	return nil, err
}

// lookup finds a tool as it is known by its full name, and its server; the
// server alone when it may have the tool but its tools are not known yet.
func (s *snapshot) lookup(name string) (*view, *entry) {
	if v, e := s.called(name); e != nil {
		return v, e
	}
	return s.spelledAs(withoutPrefix(name))
}

// called finds a tool by its callable name. It is what nearly every call needs.
func (s *snapshot) called(name string) (*view, *entry) {
	for _, v := range s.views {
		if part, ok := strings.CutPrefix(name, v.prefix); ok && v.tools != nil {
			if e := v.tools.byPart[part]; e != nil {
				return v, e
			}
		}
	}
	return nil, nil
}

// withoutPrefix takes tool.Prefix, in any spelling, off a name.
func withoutPrefix(name string) string {
	if n := len(tool.Prefix); len(name) > n && fold(name[:n]) == tool.Prefix {
		return name[n:]
	}
	return name
}

// spelledAs finds a tool by another spelling, tools that can be called first.
// The view alone is returned for a tool that may be one of a server whose
// tools are not known yet.
func (s *snapshot) spelledAs(name string) (*view, *entry) {
	var absent *view
	var last *entry
	for _, find := range []func(*view, string) (*entry, bool){exactly, folded} {
		for _, v := range s.views {
			e, named := find(v, name)
			switch {
			case e != nil && v.listed():
				return v, e
			case absent == nil && (e != nil || named && v.tools == nil):
				absent, last = v, e
			}
		}
	}
	return absent, last
}

// exactly finds a tool of the server where the server's name is spelled as one
// of its own. named reports whether it was named at all.
func exactly(v *view, name string) (e *entry, named bool) {
	for _, server := range []string{v.part, v.Name()} {
		after, ok := strings.CutPrefix(name, server)
		if !ok {
			continue
		}
		if after, ok = afterSeparator(after); !ok {
			continue
		}
		named = true
		if v.tools != nil {
			if e := v.tools.find(after); e != nil {
				return e, true
			}
		}
	}
	return nil, named
}

// folded is exactly for spellings that differ in - and _ and their like.
func folded(v *view, name string) (*entry, bool) {
	if v.tools == nil {
		return nil, false
	}
	name = fold(name)
	for _, server := range []string{v.part, fold(v.Name())} {
		if after, ok := strings.CutPrefix(name, server+"_"); ok {
			if e := v.tools.find(strings.TrimPrefix(after, "_")); e != nil {
				return e, true
			}
		}
	}
	return nil, false
}

// alone finds a tool named without its server, if only one server has it.
func (s *snapshot) alone(name string) *entry {
	var found *entry
	for _, v := range s.views {
		if !v.listed() {
			continue
		}
		if e := v.tools.find(name); e != nil {
			if found != nil {
				return nil
			}
			found = e
		}
	}
	return found
}
