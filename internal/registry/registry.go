// Package registry is the catalogue of callable tools: their names, which of
// them are offered, where a call goes, and what its raw result is worth to a
// program.
//
// It owns naming, filters, snapshots of the catalogue, routing, and the step
// from a CallToolResult to a value. It must not know transports, processes,
// sandboxes or how results are shown to a model.
package registry

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// Server is a session with one configured server; *downstream.Session is one.
// All methods may be called from many goroutines at once.
type Server interface {
	// Name is the server's name as configured.
	Name() string
	// Status is the session's present state; its tool list is immutable.
	Status() downstream.Status
	// Settled is closed when the first attempt to connect has ended.
	Settled() <-chan struct{}
	// Connected waits until the server is connected or ctx ends.
	Connected(ctx context.Context) error
	// OnChange has f called after every change of the state or the tools.
	OnChange(f func())
	// Call returns the raw CallToolResult, valid UTF-8. Its errors are
	// downstream's.
	Call(ctx context.Context, toolName string, arguments json.RawMessage) (json.RawMessage, error)
	// CallWithProgress is Call, and progress gets the parameters of each
	// progress notification; it must not block.
	CallWithProgress(ctx context.Context, toolName string, arguments json.RawMessage, progress func(params json.RawMessage)) (json.RawMessage, error)
	// The lists and results of what there is beside tools, as they were sent.
	// Their errors are Call's.
	ListResources(ctx context.Context) ([]json.RawMessage, error)
	ListResourceTemplates(ctx context.Context) ([]json.RawMessage, error)
	ReadResource(ctx context.Context, uri string) (json.RawMessage, error)
	ListPrompts(ctx context.Context) ([]json.RawMessage, error)
	GetPrompt(ctx context.Context, name string, arguments map[string]string) (json.RawMessage, error)
	// Complete is completion/complete with its parameters.
	Complete(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
}

var _ Server = (*downstream.Session)(nil)

// Options are the catalogue's settings.
type Options struct {
	// Allow and Block are globs over callable names, of which only * and ?
	// are special. They exclude each other; with neither every tool is
	// callable.
	Allow, Block []string
	// Direct are globs over callable names: those the client is offered itself
	// as well.
	Direct []string
	// MaxResultBytes bounds one result value; 0 means no bound.
	MaxResultBytes int64
	// Logger is told of patterns that match nothing and of schemas that do
	// not compile. Nil discards.
	Logger *slog.Logger
}

// Registry is the catalogue. Reading it and calling tools takes no lock: both
// work on the present snapshot.
type Registry struct {
	filter filter
	direct []string // patterns
	limit  int64
	logger *slog.Logger
	learnt learner

	current atomic.Pointer[snapshot]

	mu        sync.Mutex // held while the next snapshot is made
	warned    map[string]bool
	listeners []func()
}

// New makes the catalogue of the servers, given in the order of the
// configuration, and follows their changes from then on. It fails when Allow
// and Block are both set, or when two servers have the same name.
func New(servers []Server, opts Options) (*Registry, error) {
	f, err := newFilter(opts.Allow, opts.Block)
	if err != nil {
		return nil, err
	}
	r := &Registry{filter: f, direct: opts.Direct, limit: opts.MaxResultBytes, logger: opts.Logger, warned: map[string]bool{}}
	if r.logger == nil {
		r.logger = slog.New(slog.DiscardHandler)
	}
	r.current.Store(newSnapshot(nil))
	if err := r.SetServers(servers); err != nil {
		return nil, err
	}
	return r, nil
}

// OnChange has f called after every change of the catalogue or of a server's
// state, from the goroutine that brought the change. f must not block.
func (r *Registry) OnChange(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners = append(r.listeners, f)
}

// Names lists the callable names, sorted. The caller must not change it.
func (r *Registry) Names() []string { return r.current.Load().names }

// Servers are the configured servers' states, in the order of the
// configuration.
func (r *Registry) Servers() []tool.Server {
	views := r.current.Load().views
	servers := make([]tool.Server, len(views))
	for i, v := range views {
		s := tool.Server{
			Name:       v.Name(),
			Connected:  v.status.State == downstream.Connected,
			Connecting: v.status.State == downstream.Connecting,
		}
		if v.listed() {
			s.Tools = len(v.tools.entries)
		}
		if v.status.Err != nil || v.status.State == downstream.Down {
			s.Error = v.reason()
		}
		servers[i] = s
	}
	return servers
}

// resolve finds a tool in the present catalogue. News of a server may still be
// on its way, so a tool that is not there is looked for again after asking.
func (r *Registry) resolve(name string) (*entry, error) {
	s := r.current.Load()
	e, err := s.resolve(name)
	if err == nil {
		return e, nil
	}
	r.refresh()
	if now := r.current.Load(); now != s { // made here, or meanwhile
		return now.resolve(name)
	}
	return nil, err
}

// refresh makes a new snapshot if a server has changed, reusing what has not,
// and reports whether it did.
func (r *Registry) refresh() (changed bool) {
	r.mu.Lock()
	old := r.current.Load()
	views := make([]*view, len(old.views))
	for i, v := range old.views {
		views[i] = v.next(r.filter, r.logger)
		changed = changed || views[i] != v
	}
	if !changed {
		r.mu.Unlock()
		return false
	}
	next := newSnapshot(views)
	next.gone = old.gone
	r.current.Store(next)
	r.warnAbout(views)
	listeners := slices.Clone(r.listeners)
	r.mu.Unlock()
	for _, f := range listeners {
		f()
	}
	return true
}

// next is the server's view of now: v itself when nothing has changed.
func (v *view) next(f filter, logger *slog.Logger) *view {
	status := v.Status()
	connected := status.State == downstream.Connected
	sameTools := !connected || v.tools != nil && v.tools.madeFrom(status.Tools)
	sameOffers := status.ResourcesRevision == v.status.ResourcesRevision && status.PromptsRevision == v.status.PromptsRevision
	if sameTools && sameOffers && status.State == v.status.State && sameText(status.Err, v.status.Err) {
		return v
	}
	n := &view{member: v.member, status: status, tools: v.tools}
	if !sameTools {
		n.tools = newToolset(v.member, status.Tools, f, logger)
		n.tools.withdrawn = n.tools.withdrawnFrom(v.tools)
		time.AfterFunc(indexDelay, func() { n.tools.index() })
	}
	return n
}

// indexDelay is how long after a list has come its search index is made, unless
// a search needs it sooner: neither the start of a server nor a single run has
// to share the machine with that.
const indexDelay = time.Second

func sameText(a, b error) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Error() == b.Error()
}

// warnAbout logs what of the configuration cannot have an effect. Nothing is
// known of that as long as there are no servers: they may be set later.
func (r *Registry) warnAbout(views []*view) {
	if len(views) > 0 {
		r.warnUnmatched(views)
		r.warnDirect(views)
	}
}

// warnUnmatched logs, once each, the patterns that match no tool of any
// server, as soon as that is certain: a server that is not connected may still
// have what a pattern is meant for.
func (r *Registry) warnUnmatched(views []*view) {
	for i, pattern := range r.filter.patterns {
		if r.warned[pattern] || slices.ContainsFunc(views, func(v *view) bool { return v.mayMatch(pattern, i) }) {
			continue
		}
		r.warned[pattern] = true
		var names []string
		for _, v := range views {
			for part := range toolParts(v.tools.sourceTools()) {
				names = append(names, callableName(v.part, part))
			}
		}
		r.logger.Warn("pattern matches no tool", "key", "tools."+r.filter.key(), "pattern", pattern,
			"nearest", nearest(strings.NewReplacer("*", "", "?", "").Replace(pattern), names))
	}
}

// mayMatch reports whether the filter's pattern matches a tool of the server or
// may do so once the server is there.
func (v *view) mayMatch(pattern string, index int) bool {
	if v.tools != nil {
		return v.tools.matched[index]
	}
	if v.status.State == downstream.Connecting {
		return true
	}
	for _, prefix := range []string{v.prefix, callableName(v.Name(), "")} {
		start := literalStart(pattern)
		if strings.HasPrefix(start, prefix) || strings.HasPrefix(prefix, start) {
			return true
		}
	}
	return false
}

// sourceTools is the list the set was made from, filtered ones included.
func (s *toolset) sourceTools() []downstream.Tool {
	if s == nil {
		return nil
	}
	return s.source
}
