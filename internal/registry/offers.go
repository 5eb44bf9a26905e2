package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// What servers offer beside tools: resources and prompts. A filter decides
// about a server's resources as about a tool named mcp__<server>__read_resource,
// and about its prompts as about mcp__<server>__get_prompt.

// offerFunction is one of the functions by which programs reach resources and
// prompts.
type offerFunction struct {
	input inputShape
	call  func(ctx context.Context, r *Registry, o *offering, arguments json.RawMessage) (json.RawMessage, error)
}

var offerFunctions = map[string]offerFunction{
	tool.ListResources: {
		input: inputShape{params: []param{{name: "server", kind: "string"}}, closed: true},
		call: func(ctx context.Context, r *Registry, o *offering, arguments json.RawMessage) (json.RawMessage, error) {
			return o.listAll(ctx, stringMember(arguments, "server"), resourcesOf)
		},
	},
	tool.ReadResource: {
		input: inputShape{params: []param{{name: "uri", kind: "string", required: true}, {name: "server", kind: "string"}}, closed: true},
		call: func(ctx context.Context, r *Registry, o *offering, arguments json.RawMessage) (json.RawMessage, error) {
			return o.read(ctx, stringMember(arguments, "server"), stringMember(arguments, "uri"), r.limit)
		},
	},
	tool.ListPrompts: {
		input: inputShape{params: []param{{name: "server", kind: "string"}}, closed: true},
		call: func(ctx context.Context, r *Registry, o *offering, arguments json.RawMessage) (json.RawMessage, error) {
			return o.listAll(ctx, stringMember(arguments, "server"), promptsOf)
		},
	},
	tool.GetPrompt: {
		input: inputShape{params: []param{{name: "name", kind: "string", required: true}, {name: "arguments", kind: "object"}, {name: "server", kind: "string"}}, closed: true},
		call: func(ctx context.Context, r *Registry, o *offering, arguments json.RawMessage) (json.RawMessage, error) {
			return o.prompt(ctx, arguments)
		},
	},
}

// offering answers one call of an offer function from one snapshot.
type offering struct {
	*snapshot
	name  string // of the function
	input inputShape
}

// callOffer answers a call of an offer function; ok tells that name is one.
func (r *Registry) callOffer(ctx context.Context, name string, arguments json.RawMessage) (value json.RawMessage, ok bool, err error) {
	f, ok := offerFunctions[name]
	if !ok {
		return nil, false, nil
	}
	r.refresh() // a server that has just connected counts
	value, err = f.call(ctx, r, &offering{r.current.Load(), name, f.input}, arguments)
	if err == nil {
		if size := checkSize(int64(len(value)), r.limit); size != nil {
			err = (&entry{Tool: readOnlyTool, name: name}).tooLarge(size)
		}
	}
	if err != nil {
		return nil, true, err
	}
	return value, true, nil
}

// kind is resources or prompts.
type kind struct {
	noun     string
	function string // its part of the name that filters go by
	offered  func(downstream.Status) bool
	callable func(*toolset) bool
	list     func(ctx context.Context, s Server) ([]json.RawMessage, error)
	key      string // by which one is asked for
}

var resourcesOf = kind{
	noun: "resources", function: tool.ReadResource, key: "uri",
	offered:  func(st downstream.Status) bool { return st.Resources },
	callable: func(s *toolset) bool { return s.reads },
	list:     listResources,
}

var promptsOf = kind{
	noun: "prompts", function: tool.GetPrompt, key: "name",
	offered:  func(st downstream.Status) bool { return st.Prompts },
	callable: func(s *toolset) bool { return s.prompts },
	list:     func(ctx context.Context, s Server) ([]json.RawMessage, error) { return s.ListPrompts(ctx) },
}

// listResources lists resources and templates, which differ in having a uri or
// a uriTemplate.
func listResources(ctx context.Context, s Server) ([]json.RawMessage, error) {
	resources, err := s.ListResources(ctx)
	if err != nil {
		return nil, err
	}
	templates, err := s.ListResourceTemplates(ctx)
	return slices.Concat(resources, templates), err
}

// servers are those that offer the kind to programs: the one that is named, in
// any spelling, or all.
func (o *offering) servers(k kind, name string) ([]*view, error) {
	var found []*view
	var names []string
	for _, v := range o.views {
		names = append(names, v.Name())
		if name == "" {
			if v.listed() && k.offered(v.status) && k.callable(v.tools) {
				found = append(found, v)
			}
			continue
		}
		if name != v.Name() && name != v.part && fold(name) != fold(v.Name()) {
			continue
		}
		switch {
		case !v.listed():
			return nil, v.unavailable(o.name)
		case !k.callable(v.tools):
			return nil, tool.Errorf(o.name, tool.KindUnknown, "the %s of server %q are not callable: the configuration's tools.allow or tools.block leaves %s out", k.noun, v.Name(), callableName(v.part, k.function))
		case !k.offered(v.status):
			return nil, tool.Errorf(o.name, tool.KindUnknown, "server %q offers no %s", v.Name(), k.noun)
		}
		found = append(found, v)
	}
	if name != "" && len(found) == 0 {
		return nil, tool.Errorf(o.name, tool.KindArguments, "no server is named %q%s", clip(name, maxShownName), orMean(name, names))
	}
	return found, nil
}

// listed is one server's list, or why there is none.
type listed struct {
	view  *view
	items []json.RawMessage
	err   error
}

// lists asks the servers for their lists, all at the same time.
func (o *offering) lists(ctx context.Context, k kind, views []*view) []listed {
	lists := make([]listed, len(views))
	var wg sync.WaitGroup
	for i, v := range views {
		wg.Go(func() {
			started := time.Now()
			items, err := k.list(ctx, v.Server)
			if err != nil {
				err = o.at(v).callError(ctx, err, time.Since(started))
			}
			lists[i] = listed{v, items, err}
		})
	}
	wg.Wait()
	return lists
}

// at is the function as a tool of one server, for its errors.
func (o *offering) at(v *view) *entry {
	return &entry{Tool: readOnlyTool, member: v.member, name: o.name, input: o.input}
}

var readOnlyTool = func() *downstream.Tool {
	yes := true
	return &downstream.Tool{ReadOnly: &yes}
}()

// listAll is an array of what the servers list, each with its server. A server
// that fails has an item {"server", "error"}, unless it alone was asked.
func (o *offering) listAll(ctx context.Context, server string, k kind) (json.RawMessage, error) {
	views, err := o.servers(k, server)
	if err != nil {
		return nil, err
	}
	out := []byte{'['}
	add := func(item []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	for _, l := range o.lists(ctx, k, views) {
		if l.err != nil {
			if server != "" || ctx.Err() != nil {
				return nil, l.err
			}
			item := appendQuoted([]byte(`{"server":`), l.view.Name())
			add(append(appendQuoted(append(item, `,"error":`...), firstLine(l.err.Error(), maxErrorText)), '}'))
		}
		for _, item := range l.items {
			add(withMember(item, "server", l.view.Name()))
		}
	}
	return append(out, ']'), nil
}

// withMember adds a string as the last member of an object; an earlier one with
// that key is hidden by it.
func withMember(object []byte, key, value string) json.RawMessage {
	body := bytes.TrimRight(object[:len(object)-1], " \t\r\n")
	out := slices.Clone(body)
	if len(body) > 1 {
		out = append(out, ',')
	}
	out = append(appendQuoted(out, key), ':')
	return append(appendQuoted(out, value), '}')
}

// one finds the server to ask for what is called want: the one that is named,
// the only one there is, or the only one that lists it.
func (o *offering) one(ctx context.Context, k kind, server, want string) (*view, error) {
	views, err := o.servers(k, server)
	switch {
	case err != nil:
		return nil, err
	case len(views) == 0:
		return nil, tool.Errorf(o.name, tool.KindUnknown, "no connected server offers %s", k.noun)
	case len(views) == 1:
		return views[0], nil
	}
	var owners []*view
	var known []string
	for _, l := range o.lists(ctx, k, views) {
		for _, item := range l.items {
			id := stringMember(item, k.key)
			known = append(known, id)
			if id == want && !slices.Contains(owners, l.view) {
				owners = append(owners, l.view)
			}
		}
	}
	switch len(owners) {
	case 1:
		return owners[0], nil
	case 0:
		return nil, tool.Errorf(o.name, tool.KindUnknown, "no server lists %q%s; if one has it all the same, say which with server=: %s",
			clip(want, maxShownName), orMean(want, known), viewNames(views))
	}
	return nil, tool.Errorf(o.name, tool.KindArguments, "several servers list %q; say which with server=: %s", clip(want, maxShownName), viewNames(owners))
}

func viewNames(views []*view) string {
	names := make([]string, len(views))
	for i, v := range views {
		names[i] = v.Name()
	}
	return clip(strings.Join(names, ", "), maxErrorText)
}
