package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/yosida95/uritemplate/v3"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// What the client is offered itself: the callable tools, and the resources and
// prompts of servers, that the patterns of tools.direct name. It passes through
// as the servers have it, but for names: a tool has its callable name, and a
// prompt that of its server before it.

// DirectTools returns the tools offered to the client, sorted by name. Like a
// program that lists the tools, it waits at most 3 seconds for servers whose
// first attempt to connect is under way.
func (r *Registry) DirectTools(ctx context.Context) []tool.Definition {
	if len(r.direct) == 0 {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, guessWait)
	defer cancel()
	for _, m := range r.unsettled() {
		settle(wait, m)
	}
	r.refresh()
	return r.definitions(r.current.Load())
}

func (r *Registry) definitions(s *snapshot) []tool.Definition {
	var definitions []tool.Definition
	for _, v := range s.views {
		if !v.listed() {
			continue
		}
		for _, e := range v.tools.entries {
			if raw := e.definition(); raw != nil && matchesAny(r.direct, e.name, callableName(v.Name(), e.Name)) {
				definitions = append(definitions, tool.Definition{Name: e.name, Raw: raw})
			}
		}
	}
	slices.SortFunc(definitions, func(a, b tool.Definition) int { return strings.Compare(a.Name, b.Name) })
	return definitions
}

// definition is the tool's definition with its callable name; nil when its
// input schema is none that MCP allows, for which clients drop the whole list.
func (e *entry) definition() json.RawMessage {
	if stringMember(e.InputSchema, "type") != "object" {
		return nil
	}
	return renamed(e.Raw, e.name, func(key string, value []byte) bool {
		switch key {
		case "execution": // offers tasks, which are not passed through
			return false
		case "outputSchema":
			return stringMember(value, "type") == "object"
		}
		return true
	})
}

// renamed is an object with another name and those of its members that keep
// accepts; nil if it is none.
func renamed(object []byte, name string, keep func(key string, value []byte) bool) json.RawMessage {
	out := appendQuoted([]byte(`{"name":`), name)
	if _, err := eachMember(object, skipSpace(object, 0), func(key []byte, at int) (int, error) {
		end, err := skipValue(object, at)
		if err == nil && string(key) != "name" && keep(string(key), object[at:end]) {
			out = append(appendQuoted(append(out, ','), string(key)), ':')
			out = append(out, object[at:end]...)
		}
		return end, err
	}); err != nil {
		return nil
	}
	return append(out, '}')
}

// CallDirect calls a tool for the client and returns the raw CallToolResult; ok
// is false for a tool that is not direct. progress, unless nil, gets the
// parameters of each progress notification. The error is a *tool.RPCError that
// the server answered with, or a *tool.Error.
func (r *Registry) CallDirect(ctx context.Context, name string, arguments json.RawMessage, progress func(params json.RawMessage)) (raw json.RawMessage, ok bool, err error) {
	e, err := r.reach(ctx, name)
	if err != nil {
		return nil, matchesAny(r.direct, name, name), err
	}
	if !matchesAny(r.direct, e.name, callableName(e.member.Name(), e.Name)) {
		return nil, false, nil
	}
	if arguments, err = objectArguments(name, arguments); err != nil {
		return nil, true, err
	}
	started := time.Now()
	raw, err = e.send(ctx, func() (json.RawMessage, error) {
		if progress == nil {
			return e.member.Call(ctx, e.Name, arguments)
		}
		return e.member.CallWithProgress(ctx, e.Name, arguments, progress)
	})
	if err != nil {
		return nil, true, passError(err, func() error { return e.callError(ctx, err, time.Since(started)) })
	}
	return raw, true, nil
}

// passError passes a server's own error on, and puts others in words.
func passError(err error, words func() error) error {
	var rpc *downstream.RPCError
	if errors.As(err, &rpc) {
		return &tool.RPCError{Code: rpc.Code, Message: rpc.Message, Data: rpc.Data}
	}
	return words()
}

// DirectOffers tells whether resources and prompts of any server may pass
// through. It follows from the configuration alone.
func (r *Registry) DirectOffers() (resources, prompts bool) {
	for _, v := range r.current.Load().views {
		resources = resources || r.passes(v, resourcesOf)
		prompts = prompts || r.passes(v, promptsOf)
	}
	return resources, prompts
}

func (r *Registry) passes(v *view, k kind) bool {
	return matchesAny(r.direct, callableName(v.part, k.function), callableName(v.Name(), k.function))
}

// DirectState returns the present state. It waits for nothing and asks nobody.
func (r *Registry) DirectState() tool.DirectState {
	var state tool.DirectState
	if len(r.direct) == 0 {
		return state
	}
	s := r.current.Load()
	tools := fnv.New64a()
	for _, d := range r.definitions(s) {
		_, _ = tools.Write(d.Raw)
	}
	state.Tools = strconv.FormatUint(tools.Sum64(), 36)
	for _, v := range s.views {
		if !v.listed() {
			continue
		}
		if r.passes(v, resourcesOf) {
			state.Resources += fmt.Sprintf("%s %d,", v.part, v.status.ResourcesRevision)
		}
		if r.passes(v, promptsOf) {
			state.Prompts += fmt.Sprintf("%s %d,", v.part, v.status.PromptsRevision)
		}
	}
	return state
}

// DirectResources lists the raw Resource objects that pass through.
func (r *Registry) DirectResources(ctx context.Context) []json.RawMessage {
	return r.directList(ctx, resourcesOf, Server.ListResources, nil)
}

// DirectTemplates lists the raw ResourceTemplate objects that pass through.
func (r *Registry) DirectTemplates(ctx context.Context) []json.RawMessage {
	return r.directList(ctx, resourcesOf, Server.ListResourceTemplates, nil)
}

// DirectPrompts lists the raw Prompt objects that pass through, each under its
// server's name: mcp__<server>__<prompt>.
func (r *Registry) DirectPrompts(ctx context.Context) []json.RawMessage {
	return r.directList(ctx, promptsOf, Server.ListPrompts, func(v *view, item json.RawMessage) json.RawMessage {
		name := callableName(v.part, stringMember(item, "name"))
		return renamed(item, name, func(string, []byte) bool { return true })
	})
}

// directList joins the lists of the servers whose kind passes through. One that
// fails is left out, with a line in the log: the others' lists are worth having.
func (r *Registry) directList(ctx context.Context, k kind, list func(Server, context.Context) ([]json.RawMessage, error), change func(*view, json.RawMessage) json.RawMessage) []json.RawMessage {
	views := r.directServers(k)
	lists := make([][]json.RawMessage, len(views))
	var wg sync.WaitGroup
	for i, v := range views {
		wg.Go(func() {
			items, err := list(v.Server, ctx)
			if err != nil {
				r.logger.Warn("left out what a server offers", "server", v.Name(), "kind", k.noun, "error", err)
				return
			}
			for j, item := range items {
				if change != nil {
					items[j] = change(v, item)
				}
			}
			lists[i] = items
		})
	}
	wg.Wait()
	return slices.Concat(lists...)
}

// directServers are the connected servers whose kind passes through.
func (r *Registry) directServers(k kind) []*view {
	r.refresh()
	var views []*view
	for _, v := range r.current.Load().views {
		if v.listed() && r.passes(v, k) && k.offered(v.status) && k.callable(v.tools) {
			views = append(views, v)
		}
	}
	return views
}

// DirectRead reads a resource for the client and returns the raw
// ReadResourceResult. Its errors are CallDirect's; ok is false when no server
// has the resource.
func (r *Registry) DirectRead(ctx context.Context, uri string) (raw json.RawMessage, ok bool, err error) {
	v := r.owner(ctx, uri)
	if v == nil {
		if absent := r.directAbsent(resourcesOf); absent != nil {
			return nil, true, absent.unavailable(clip(uri, maxShownName))
		}
		return nil, false, nil
	}
	started := time.Now()
	raw, err = v.ReadResource(ctx, uri)
	return raw, true, v.directError(ctx, tool.ReadResource, err, started)
}

// owner is the server that lists the resource, or has a template for it, or is
// the only one.
func (r *Registry) owner(ctx context.Context, uri string) *view {
	views := r.directServers(resourcesOf)
	if len(views) <= 1 {
		return only(views)
	}
	o := &offering{snapshot: r.current.Load(), name: tool.ReadResource}
	lists := o.lists(ctx, resourcesOf, views)
	for _, member := range []string{"uri", "uriTemplate"} {
		for _, l := range lists {
			for _, item := range l.items {
				if id := stringMember(item, member); id != "" && (id == uri || member == "uriTemplate" && fits(id, uri)) {
					return l.view
				}
			}
		}
	}
	return nil
}

func only(views []*view) *view {
	if len(views) == 0 {
		return nil
	}
	return views[0]
}

// maxTemplate bounds a template that is compiled, in bytes.
const maxTemplate = 1000

// fits reports whether the uri is one of the template's (RFC 6570).
func fits(template, uri string) bool {
	if len(template) > maxTemplate {
		return false
	}
	t, err := uritemplate.New(template)
	return err == nil && t.Match(uri) != nil
}

// DirectPrompt gets a prompt by the name that DirectPrompts gave it and returns
// the raw GetPromptResult. Its errors are CallDirect's; ok is false when no
// server is named.
func (r *Registry) DirectPrompt(ctx context.Context, name string, arguments map[string]string) (raw json.RawMessage, ok bool, err error) {
	for _, v := range r.directServers(promptsOf) {
		if original, found := strings.CutPrefix(name, v.prefix); found {
			started := time.Now()
			raw, err = v.GetPrompt(ctx, original, arguments)
			return raw, true, v.directError(ctx, tool.GetPrompt, err, started)
		}
	}
	if v := r.current.Load().absentOwner(name); v != nil && r.passes(v, promptsOf) {
		return nil, true, v.unavailable(name)
	}
	return nil, false, nil
}

// directAbsent is a server that is not connected and whose kind passes through;
// nil when all are there.
func (r *Registry) directAbsent(k kind) *view {
	for _, v := range r.current.Load().views {
		if !v.listed() && r.passes(v, k) {
			return v
		}
	}
	return nil
}

// directError is the error of a request that passed through; nil for nil.
func (v *view) directError(ctx context.Context, name string, err error, started time.Time) error {
	if err == nil {
		return nil
	}
	return passError(err, func() error {
		return (&entry{Tool: readOnlyTool, member: v.member, name: name}).callError(ctx, err, time.Since(started))
	})
}

// warnDirect logs, once each, the direct tools that cannot be offered and the
// patterns of tools.direct that match nothing of the servers, once all of those
// are there.
func (r *Registry) warnDirect(views []*view) {
	if len(r.direct) == 0 {
		return // or every change of a large catalogue would be gone through for nothing
	}
	first := func(about string) bool {
		known := r.warned[about]
		r.warned[about] = true
		return !known
	}
	complete := true
	matched := make(map[string]bool)
	for _, v := range views {
		complete = complete && v.tools != nil
		names := map[string]string{
			callableName(v.part, tool.ReadResource): callableName(v.Name(), tool.ReadResource),
			callableName(v.part, tool.GetPrompt):    callableName(v.Name(), tool.GetPrompt),
		}
		if v.tools != nil {
			for _, e := range v.tools.entries {
				names[e.name] = callableName(v.Name(), e.Name)
				if matchesAny(r.direct, e.name, names[e.name]) && e.definition() == nil && first("direct "+e.name) {
					r.logger.Warn("a tool cannot be offered to the client directly: its inputSchema is not of type object; programs can call it", "tool", e.name)
				}
			}
		}
		for _, p := range r.direct {
			for name, original := range names {
				matched[p] = matched[p] || matches(p, name, original)
			}
		}
	}
	for _, p := range r.direct {
		if complete && !matched[p] && first("tools.direct "+p) {
			r.logger.Warn("pattern matches no callable tool", "key", "tools.direct", "pattern", p)
		}
	}
}
