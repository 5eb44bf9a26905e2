package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// What is said of tools and servers that cannot be had, and who waits for them:
// a name that nothing has, a tool that its server has withdrawn, a server that
// is not connected and one that is no longer configured are four things.

// reconnectWait is how long after a loss a server is waited for: by what is to
// be sent to it, and by a read-only call that was lost with it.
const reconnectWait = 10 * time.Second

// comeback is how long it is still worth waiting for the server: all of
// reconnectWait when it is there, nothing when it was not lost a moment ago.
func (m *member) comeback() time.Duration {
	switch status := m.Status(); status.State {
	case downstream.Connected:
		return reconnectWait
	case downstream.Down:
		return max(0, reconnectWait-time.Since(status.Lost))
	default:
		return 0
	}
}

// isBack waits until the server is connected, within the time, and reports
// whether it is.
func (m *member) isBack(ctx context.Context, within time.Duration) bool {
	if within <= 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return m.Connected(ctx) == nil
}

// reach is resolve for a call, for which a server that was lost a moment ago is
// waited for.
func (r *Registry) reach(ctx context.Context, name string) (*entry, error) {
	e, err := r.resolve(name)
	if err == nil {
		return e, nil
	}
	v, _ := r.current.Load().lookup(name)
	if v == nil || v.listed() || !v.isBack(ctx, v.comeback()) {
		return nil, err
	}
	return r.resolve(name)
}

// missing says why a name cannot be called, when no tool that can be has it.
// known tells that there is more to say than that nothing is called so.
func (s *snapshot) missing(name string) (err *tool.Error, known bool) {
	shown := clip(name, maxShownName)
	unknown := func(format string, args ...any) (*tool.Error, bool) {
		return tool.Errorf(shown, tool.KindUnknown, format, args...), true
	}
	if v, e := s.lookup(name); v != nil && (e != nil || v.tools == nil) {
		return v.unavailable(name), true
	}
	if v := s.aloneAbsent(name); v != nil {
		return v.unavailable(name), true
	}
	if owners := s.owners(name); len(owners) > 1 {
		return unknown("several servers have such a tool; call one of them by its full name: %s", clip(strings.Join(owners, ", "), maxErrorText))
	}
	if m := s.removed(name); m != nil {
		return unknown("server %q is no longer configured, so its tools are gone; do without it", m.Name())
	}
	if v, since := s.withdrawn(name); v != nil {
		return unknown("server %q withdrew this tool from its list %s ago, so nothing was sent; do without it%s",
			v.Name(), ago(since), didYouMean(name, s.names))
	}
	if v := s.absentOwner(name); v != nil {
		return unknown("server %q has no such tool as far as is known; it is not connected at present (%s)%s",
			v.Name(), v.reason(), orMean(name, v.toolNames()))
	}
	return tool.Errorf(shown, tool.KindUnknown, "no such tool%s", didYouMean(name, s.names)), false
}

// ago is a time that has passed, in words.
func ago(d time.Duration) string { return max(d.Round(time.Second), time.Second).String() }

// withdrawn finds the server that once listed a tool of the name, and since when
// it does not.
func (s *snapshot) withdrawn(name string) (*view, time.Duration) {
	for _, v := range s.views {
		if part, ok := v.partOf(name); ok && v.listed() {
			if at, ok := v.tools.withdrawn[part]; ok {
				return v, time.Since(at)
			}
		}
	}
	return nil, 0
}

// absentOwner finds the server that is not connected to which a name belongs
// although it never listed a tool of it.
func (s *snapshot) absentOwner(name string) *view {
	for _, v := range s.views {
		if _, ok := v.partOf(name); ok && !v.listed() {
			return v
		}
	}
	return nil
}

// partOf returns what would be the tool's part of a name, in any spelling, if
// the name is one of this server's.
func (v *view) partOf(name string) (string, bool) {
	if part, ok := strings.CutPrefix(name, v.prefix); ok {
		return part, true
	}
	bare := withoutPrefix(name)
	for _, server := range []string{v.part, v.Name()} {
		if after, ok := strings.CutPrefix(bare, server); ok {
			if after, ok = afterSeparator(after); ok {
				return fold(after), true
			}
		}
	}
	return "", false
}

// toolNames are the callable names of the tools that were known last.
func (v *view) toolNames() []string {
	if v.tools == nil {
		return nil
	}
	names := make([]string, len(v.tools.entries))
	for i, e := range v.tools.entries {
		names[i] = e.name
	}
	return names
}

// owners are the callable names of the tools that a name without a server may
// stand for.
func (s *snapshot) owners(name string) []string {
	var names []string
	for _, v := range s.views {
		if v.listed() {
			if e := v.tools.find(name); e != nil {
				names = append(names, e.name)
			}
		}
	}
	return names
}

// aloneAbsent finds the server that is not connected and has, as far as is
// known, a tool named without its server.
func (s *snapshot) aloneAbsent(name string) *view {
	for _, v := range s.views {
		if !v.listed() && v.tools != nil && v.tools.find(name) != nil {
			return v
		}
	}
	return nil
}

// unavailable is the error for a tool of a server that is not connected.
func (v *view) unavailable(name string) *tool.Error {
	err := tool.Errorf(clip(name, maxShownName), tool.KindConnection, "%s", notConnected(v.Name(), v.reason()))
	err.Retryable = true
	return err
}

// notConnected says what is to be said of every server that is not.
func notConnected(server, reason string) string {
	return fmt.Sprintf("server %q is not connected (%s); nothing was sent; it is being reconnected, so try again later or do without it", server, reason)
}

// toolAbsence answers tool.Absence.
func (r *Registry) toolAbsence(arguments json.RawMessage) (json.RawMessage, error) {
	r.refresh()
	s := r.current.Load()
	var why string
	if server := stringMember(arguments, "server"); server != "" {
		why = s.serverAbsence(server)
	} else {
		why = s.toolAbsence(stringMember(arguments, "tool_name"))
	}
	if why == "" {
		return json.RawMessage("null"), nil
	}
	return appendQuoted(nil, why), nil
}

// toolAbsence is what to say to a program that was not given a tool; empty when
// nothing has its name.
func (s *snapshot) toolAbsence(name string) string {
	if _, err := s.resolve(name); err == nil {
		return clip(name, maxShownName) + ": it has come since the program was started; run the program again"
	}
	if err, known := s.missing(name); known {
		return err.Message
	}
	return ""
}

// serverAbsence is the same for a server, named by its part of callable names.
func (s *snapshot) serverAbsence(part string) string {
	named := func(m *member) bool { return m.part == part || fold(m.Name()) == part }
	if i := slices.IndexFunc(s.views, func(v *view) bool { return named(v.member) }); i >= 0 {
		switch v := s.views[i]; {
		case !v.listed():
			return notConnected(v.Name(), v.reason())
		case len(v.tools.entries) == 0:
			return fmt.Sprintf("server %q has no tools that can be called", v.Name())
		case v.part != part:
			return fmt.Sprintf("server %q is called %s in programs", v.Name(), v.part)
		default:
			return fmt.Sprintf("server %q has come since the program was started; run the program again", v.Name())
		}
	}
	if i := slices.IndexFunc(s.gone, named); i >= 0 {
		return fmt.Sprintf("server %q is no longer configured, so its tools are gone; do without it", s.gone[i].Name())
	}
	return ""
}
