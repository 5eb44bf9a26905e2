package registry

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// guessWait bounds the wait for servers that a program may mean although it
// names none of them.
const guessWait = 3 * time.Second

// Prepare returns the catalogue for a run of the program source. It first
// waits, until ctx ends, for the servers that the program names and whose first
// attempt to connect is still under way; each server's own deadlines bound
// that. One that was lost less than 10 seconds ago is waited for until then. If
// the program calls a function that nothing defines, it may mean a tool by its
// short name, and if it lists the tools, it means all: then Prepare waits for
// all servers that may be meant, at most 3 seconds. Without such servers it only
// reads the present snapshot. Of a large catalogue the table holds the tools
// that the source can name.
func (r *Registry) Prepare(ctx context.Context, source string) tool.Table {
	if s := r.current.Load(); s.connecting() || s.lost() {
		r.refresh() // the news of a settled server is still on its way here
	}
	awaited := r.awaited()
	if len(awaited) == 0 {
		return r.current.Load().tableFor(source)
	}
	program := readProgram(source)
	for _, v := range awaited {
		if program.names(v.member) {
			v.await(ctx)
		}
	}
	r.refresh()
	if awaited = r.awaited(); len(awaited) > 0 && r.current.Load().lacks(program.unbound) {
		guess, cancel := context.WithTimeout(ctx, guessWait)
		defer cancel()
		for _, v := range awaited {
			if !v.mayHave(program.unbound) {
				continue
			}
			v.await(guess)
			r.refresh()
			if !r.current.Load().lacks(program.unbound) {
				break
			}
		}
	}
	return r.current.Load().tableFor(source)
}

// awaited are the servers whose first attempt to connect is under way, and those
// that were lost a moment ago.
func (r *Registry) awaited() []*view {
	var awaited []*view
	for _, v := range r.current.Load().views {
		if !v.hasSettled() || v.status.State == downstream.Down && v.comeback() > 0 {
			awaited = append(awaited, v)
		}
	}
	return awaited
}

func (m *member) hasSettled() bool {
	select {
	case <-m.Settled():
		return true
	default:
		return false
	}
}

// await waits for the end of the first attempt to connect, or for a server that
// was lost a moment ago.
func (v *view) await(ctx context.Context) {
	settle(ctx, v.member)
	v.isBack(ctx, v.comeback())
}

// mayHave reports whether one of the names may be the short name of a tool of
// the server: of one that was lost it is known which it had.
func (v *view) mayHave(names []string) bool {
	return v.tools == nil || slices.ContainsFunc(names, func(name string) bool { return v.tools.byPart[name] != nil })
}

// unsettled are the servers whose first attempt to connect is under way.
func (r *Registry) unsettled() []*member {
	var unsettled []*member
	for _, v := range r.current.Load().views {
		if !v.hasSettled() {
			unsettled = append(unsettled, v.member)
		}
	}
	return unsettled
}

func settle(ctx context.Context, m *member) {
	select {
	case <-m.Settled():
	case <-ctx.Done():
	}
}

// lacks reports whether one of the names is no tool's short name.
func (s *snapshot) lacks(names []string) bool {
	for _, name := range names {
		known := false
		for _, v := range s.views {
			known = known || v.listed() && v.tools.byPart[name] != nil
		}
		if !known {
			return true
		}
	}
	return false
}

// names reports whether the program names the server: in the callable name of
// a tool, by way of servers, or in a string that names one of its tools.
func (p *program) names(m *member) bool {
	prefixes := []string{m.prefix, callableName(m.Name(), ""), tool.Prefix + fold(m.Name()) + separator}
	for _, prefix := range prefixes {
		for _, id := range p.identifiers {
			if strings.HasPrefix(id, prefix) {
				return true
			}
		}
		for _, s := range p.strings {
			if strings.Contains(s, prefix) {
				return true
			}
		}
	}
	for _, spelling := range []string{m.part, m.Name(), fold(m.Name())} {
		for _, id := range p.identifiers {
			if p.usesServers && id == spelling {
				return true
			}
		}
		for _, s := range p.strings {
			if p.usesServers && s == spelling || startsTool(s, spelling) || inFolder(s, spelling) {
				return true
			}
		}
	}
	return false
}

// inFolder reports whether s is a path in the server's folder of the tree of
// wrapper files, or that folder.
func inFolder(s, server string) bool {
	path, ok := treePath(s)
	folder, _, _ := strings.Cut(path, "/")
	return ok && folder == server
}

// treePath returns what follows "servers/" in a path of the tree; empty for the
// tree itself.
func treePath(s string) (path string, ok bool) {
	s, ok = strings.CutPrefix(strings.TrimPrefix(s, "./"), "servers")
	if s == "" {
		return "", ok
	}
	path, slash := strings.CutPrefix(s, "/")
	return path, ok && slash
}

// startsTool reports whether s is a server's name, something that separates it,
// and the beginning of a tool's name.
func startsTool(s, server string) bool {
	rest, ok := strings.CutPrefix(s, server)
	if !ok {
		return false
	}
	part, ok := afterSeparator(rest)
	return ok && part != "" && isIdentifierByte(part[0])
}
