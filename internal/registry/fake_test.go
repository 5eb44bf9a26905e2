package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
)

// fakeServer is a Server whose state and answers the test decides.
type fakeServer struct {
	name    string
	settled chan struct{}

	// What it offers beside tools; set before use.
	resources, templates, prompts []json.RawMessage
	reading                       map[string]string // results by uri
	offerErr                      error

	mu        sync.Mutex
	status    downstream.Status
	listeners []func()
	connected chan struct{} // replaced when the connection is lost
	answer    func(ctx context.Context, call int, toolName string, arguments json.RawMessage) (json.RawMessage, error)
	calls     int
}

func newFake(name string, tools ...downstream.Tool) *fakeServer {
	s := newConnecting(name)
	s.up(tools...)
	return s
}

func newConnecting(name string) *fakeServer {
	return &fakeServer{name: name, settled: make(chan struct{}), connected: make(chan struct{})}
}

func (s *fakeServer) Name() string             { return s.name }
func (s *fakeServer) Settled() <-chan struct{} { return s.settled }

func (s *fakeServer) Status() downstream.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

func (s *fakeServer) Connected(ctx context.Context) error {
	s.mu.Lock()
	connected := s.connected
	s.mu.Unlock()
	select {
	case <-connected:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *fakeServer) OnChange(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, f)
}

func (s *fakeServer) Call(ctx context.Context, toolName string, arguments json.RawMessage) (json.RawMessage, error) {
	s.mu.Lock()
	s.calls++
	answer, n := s.answer, s.calls
	s.mu.Unlock()
	if answer == nil {
		return nil, errors.New("the test gave no answer")
	}
	return answer(ctx, n, toolName, arguments)
}

func (s *fakeServer) CallWithProgress(ctx context.Context, toolName string, arguments json.RawMessage, progress func(json.RawMessage)) (json.RawMessage, error) {
	progress(json.RawMessage(`{"progressToken":"x","progress":1}`))
	return s.Call(ctx, toolName, arguments)
}

func (s *fakeServer) ListResources(context.Context) ([]json.RawMessage, error) {
	return s.resources, s.offerErr
}

func (s *fakeServer) ListResourceTemplates(context.Context) ([]json.RawMessage, error) {
	return s.templates, s.offerErr
}

func (s *fakeServer) ReadResource(_ context.Context, uri string) (json.RawMessage, error) {
	return json.RawMessage(s.reading[uri]), s.offerErr
}

func (s *fakeServer) ListPrompts(context.Context) ([]json.RawMessage, error) {
	return s.prompts, s.offerErr
}

func (s *fakeServer) GetPrompt(_ context.Context, name string, arguments map[string]string) (json.RawMessage, error) {
	encoded, err := json.Marshal(arguments)
	return json.RawMessage(`{"name":"` + name + `","arguments":` + string(encoded) + `}`), err
}

func (s *fakeServer) Complete(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`{"completion":{"values":["` + s.name + `"]},"asked":` + string(params) + `}`), s.offerErr
}

func (s *fakeServer) made() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// answers has every call answered with the raw result.
func (s *fakeServer) answers(raw string) *fakeServer {
	return s.does(func(context.Context, int, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(raw), nil
	})
}

// fails has every call end with the error.
func (s *fakeServer) fails(err error) *fakeServer {
	return s.does(func(context.Context, int, string, json.RawMessage) (json.RawMessage, error) { return nil, err })
}

func (s *fakeServer) does(answer func(context.Context, int, string, json.RawMessage) (json.RawMessage, error)) *fakeServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
	return s
}

func (s *fakeServer) up(tools ...downstream.Tool) {
	s.change(func() {
		s.status = downstream.Status{
			State: downstream.Connected, Tools: tools, Generation: s.status.Generation + 1,
			Resources: s.resources != nil, Prompts: s.prompts != nil, Completions: true,
		}
		closeOnce(s.connected)
		closeOnce(s.settled)
	})
}

func (s *fakeServer) down(err error) {
	s.change(func() {
		s.status = downstream.Status{State: downstream.Down, Err: err, Generation: s.status.Generation + 1}
		s.connected = make(chan struct{})
		closeOnce(s.settled)
	})
}

// lose is down for a connection that is lost now.
func (s *fakeServer) lose(err error) {
	s.down(err)
	s.change(func() { s.status.Lost = time.Now() })
}

func (s *fakeServer) change(f func()) {
	s.mu.Lock()
	f()
	listeners := append([]func(){}, s.listeners...)
	s.mu.Unlock()
	for _, l := range listeners {
		l()
	}
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

func named(names ...string) []downstream.Tool {
	tools := make([]downstream.Tool, len(names))
	for i, n := range names {
		tools[i] = downstream.Tool{Name: n, InputSchema: json.RawMessage(`{"type":"object"}`)}
	}
	return tools
}

// catalogueOf makes n tools like those of real servers.
func catalogueOf(n int) []downstream.Tool {
	tools := make([]downstream.Tool, n)
	yes := true
	for i := range tools {
		tools[i] = downstream.Tool{
			Name:        fmt.Sprintf("get-item-%d", i),
			Description: "Get one item by its number.\n\nLonger text that is not shown.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer","description":"The item's number"},"fields":{"type":"array","items":{"type":"string"}},"verbose":{"type":"boolean","default":false}},"required":["id"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`),
			ReadOnly:    &yes,
		}
	}
	return tools
}

func newRegistry(t testing.TB, opts Options, servers ...*fakeServer) *Registry {
	t.Helper()
	list := make([]Server, len(servers))
	for i, s := range servers {
		list[i] = s
	}
	r, err := New(list, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
