package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
)

const (
	legacyVersion = "2025-11-25"
	modernVersion = "2026-07-28"

	versionKey      = "io.modelcontextprotocol/protocolVersion"
	subscriptionKey = "io.modelcontextprotocol/subscriptionId"
)

// server has the tools and the state that all its clients share.
type server struct {
	options options
	journal *journal
	// cancelLog has the events of cancelled calls only.
	cancelLog *journal

	mu        sync.RWMutex
	tools     []*tool // in the order they are listed
	byName    map[string]*tool
	counter   int64
	calls     map[string]int // of tools that fail now and then
	listeners map[*listener]bool

	// forget makes an HTTP server drop its sessions.
	forget func()
}

// listener is told when the list of tools changes.
type listener struct {
	send         func([]byte)
	subscription json.RawMessage // nil for a client of the legacy era
}

func newServer(o options, journal, cancelLog *journal) *server {
	s := &server{
		options: o, journal: journal, cancelLog: cancelLog,
		byName: map[string]*tool{}, calls: map[string]int{}, listeners: map[*listener]bool{},
		forget: func() {},
	}
	for _, t := range slices.Concat(basicTools(), resultTools(), namedTools(), generatedTools(o.tools)) {
		s.add(t)
	}
	if o.change {
		s.add(changeTool())
	}
	if o.oddSchemas {
		for _, t := range oddSchemaTools() {
			s.add(t)
		}
	}
	return s
}

func (s *server) add(t *tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[t.name] == nil {
		s.tools = append(s.tools, t)
		s.byName[t.name] = t
	}
}

func (s *server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byName, name)
	s.tools = slices.DeleteFunc(s.tools, func(t *tool) bool { return t.name == name })
}

func (s *server) listen(l *listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[l] = true
}

func (s *server) unlisten(l *listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

// toolsChanged tells every listener.
func (s *server) toolsChanged() {
	s.mu.RLock()
	listeners := slices.Collect(maps.Keys(s.listeners))
	s.mu.RUnlock()
	s.journal.write(event{Event: "changed"})
	for _, l := range listeners {
		params := map[string]any{}
		if l.subscription != nil {
			params["_meta"] = map[string]any{subscriptionKey: l.subscription}
		}
		l.send(notification("notifications/tools/list_changed", params))
	}
}

// client is what a transport knows of the sender of a request.
type client struct {
	// send sends a notification that belongs to the request; nil where the
	// transport has no way to.
	send func([]byte)
	// flush is called before the process ends on purpose.
	flush func()
	// header has the HTTP headers of the request.
	header http.Header
}

// takesTime reports whether a request must not hold up the ones behind it.
func (s *server) takesTime(r *request) bool {
	switch r.Method {
	case "subscriptions/listen":
		return true
	case "tools/call":
		var params struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal(r.Params, &params) // answer complains
		t := s.tool(params.Name)
		return t != nil && t.takesTime
	}
	return false
}

func (s *server) tool(name string) *tool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byName[name]
}

// answer returns the reply to a request, nil when there is to be none.
func (s *server) answer(ctx context.Context, c client, r *request) []byte {
	if r.ID == nil || r.Method == "" {
		return nil // a notification, or a reply to nothing we asked
	}
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if len(r.Params) > 0 && r.Method != "tools/call" { // whose metadata is read with the rest
		_ = json.Unmarshal(r.Params, &params)
	}
	_, modern := params.Meta[versionKey]

	var result []byte
	var failure *rpcError
	switch r.Method {
	case "initialize", "server/discover":
		if s.options.hangInitialize {
			return nil
		}
		result, failure = s.greet(r)
	case "ping":
		result = []byte("{}")
	case "tools/list":
		if s.options.hangList {
			return nil
		}
		result, failure = s.list(r.Params)
	case "tools/call":
		result, modern, failure = s.call(ctx, c, r)
	case "subscriptions/listen":
		s.subscribe(ctx, c, r.ID)
		return nil
	default:
		failure = errorf(codeMethodNotFound, "method %q not found", r.Method)
	}
	switch {
	case failure != nil:
		return errorReply(r.ID, failure)
	case result == nil || ctx.Err() != nil: // cancelled: there is to be no reply
		return nil
	}
	return resultReply(r.ID, result, modern)
}

func (s *server) greet(r *request) ([]byte, *rpcError) {
	capabilities := map[string]any{"tools": map[string]any{"listChanged": true}}
	info := map[string]any{"name": "ptc-testserver", "version": "1.0.0"}
	switch {
	case r.Method == "initialize" && s.options.era != "modern":
		var params struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		if err := json.Unmarshal(r.Params, &params); err != nil {
			return nil, errorf(codeInvalidParams, "initialize: %v", err)
		}
		version := params.ProtocolVersion
		if version == "" || version > legacyVersion {
			version = legacyVersion
		}
		return encode(map[string]any{"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}), nil
	case r.Method == "server/discover" && s.options.era != "legacy":
		versions := []string{modernVersion}
		if s.options.era == "both" {
			versions = append(versions, legacyVersion)
		}
		return encode(map[string]any{
			"supportedVersions": versions, "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private",
			"_meta": map[string]any{"io.modelcontextprotocol/serverInfo": info},
		}), nil
	}
	return nil, errorf(codeMethodNotFound, "method %q not found", r.Method)
}

func (s *server) list(rawParams json.RawMessage) ([]byte, *rpcError) {
	var params struct {
		Cursor string `json:"cursor"`
	}
	if len(rawParams) > 0 {
		if err := json.Unmarshal(rawParams, &params); err != nil {
			return nil, errorf(codeInvalidParams, "tools/list: %v", err)
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	first := 0
	if params.Cursor != "" {
		var err error
		if first, err = strconv.Atoi(params.Cursor); err != nil || first < 0 || first > len(s.tools) {
			return nil, errorf(codeInvalidParams, "unknown cursor %q", params.Cursor)
		}
	}
	page := s.tools[first:]
	result := map[string]any{"ttlMs": 0, "cacheScope": "private"}
	if size := s.options.pageSize; size > 0 && size < len(page) {
		page = page[:size]
		result["nextCursor"] = strconv.Itoa(first + size)
	}
	definitions := make([]json.RawMessage, len(page))
	for i, t := range page {
		definitions[i] = t.definition
	}
	result["tools"] = definitions
	return encode(result), nil
}

// subscribe keeps a subscription of the modern era open until ctx ends.
func (s *server) subscribe(ctx context.Context, c client, id json.RawMessage) {
	if c.send == nil {
		return
	}
	l := &listener{send: c.send, subscription: id}
	s.mu.Lock() // the acknowledgement comes first, and no change after it is missed
	c.send(notification("notifications/subscriptions/acknowledged", map[string]any{
		"_meta":         map[string]any{subscriptionKey: id},
		"notifications": map[string]any{"toolsListChanged": true},
	}))
	s.listeners[l] = true
	s.mu.Unlock()
	defer s.unlisten(l)
	<-ctx.Done()
}

func (s *server) call(ctx context.Context, c client, r *request) (result []byte, modern bool, failure *rpcError) {
	var params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			Version       string          `json:"io.modelcontextprotocol/protocolVersion"`
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(r.Params, &params); err != nil {
		return nil, false, errorf(codeInvalidParams, "tools/call: %v", err)
	}
	modern = params.Meta.Version != ""
	t := s.tool(params.Name)
	if t == nil {
		return nil, modern, errorf(codeInvalidParams, "unknown tool %q", params.Name)
	}
	s.journal.write(event{Event: "called", Tool: t.name, Arguments: params.Arguments, ID: r.ID})
	if t.name == s.options.dieOnCall && s.mayDie() {
		c.flush()
		os.Exit(3)
	}
	result, failure = t.call(&call{
		ctx: ctx, server: s, client: c, id: r.ID, tool: t, arguments: params.Arguments, progress: params.Meta.ProgressToken,
	})
	if t.takesTime {
		end := event{Event: "finished", Tool: t.name, ID: r.ID}
		if ctx.Err() != nil {
			end.Event = "cancelled"
			s.cancelLog.write(end)
		}
		s.journal.write(end)
	}
	return result, modern, failure
}

// mayDie is true every time, or with -die-once only the first time.
func (s *server) mayDie() bool {
	if s.options.dieOnce == "" {
		return true
	}
	file, err := os.OpenFile(s.options.dieOnce, os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return !errors.Is(err, fs.ErrExist)
	}
	_ = file.Close()
	return true
}
