package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// Questions that a server has for the user while it works on a call. Before
// 2026-07-28 they are requests of the server, which do not say to which call
// they belong: the oldest that is under way is taken for it, and without one
// they are refused. From then on they are results, which do.

// declined is the answer to a question that nobody can be asked.
var declined = json.RawMessage(`{"action":"decline"}`)

// maxQuestions bounds the questions of one server that wait at once.
const maxQuestions = 8

// asking knows the calls of one connection that a question may belong to.
type asking struct {
	mu    sync.Mutex
	calls []context.Context // the oldest first
	open  int               // questions
}

// begin takes a call in until end is called, which ends its questions too.
func (a *asking) begin(ctx context.Context) (inner context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, ctx)
	return ctx, func() {
		cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.calls = slices.DeleteFunc(a.calls, func(c context.Context) bool { return c == ctx })
	}
}

// elicitation are the options by which the client declares that it can ask.
func (c *connection) elicitation() []client.ClientOption {
	if c.config.Elicitation == nil || c.config.Elicit == nil || c.config.Thinking == nil {
		return nil
	}
	form, url := c.config.Elicitation()
	if !form && !url {
		return nil
	}
	can := &mcp.ElicitationCapability{}
	if form {
		can.Form = &struct{}{}
	}
	if url {
		can.URL = &struct{}{}
	}
	c.asking = &asking{}
	return []client.ClientOption{
		client.WithElicitationHandler(c),
		client.WithClientCapabilities(mcp.ClientCapabilities{Elicitation: can}),
	}
}

// Elicit answers a question in the result of a call; ctx is the call's.
func (c *connection) Elicit(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	params, err := json.Marshal(request.Params)
	if err != nil {
		return nil, err
	}
	var result mcp.ElicitationResult
	if err := json.Unmarshal(c.elicit(ctx, params), &result); err != nil {
		return nil, err
	}
	return &result, nil
}

// errNoCall refuses a question that belongs to no call.
var errNoCall = errors.New("elicitation/create is answered only during a call")

// asked answers a question that came as a request of the server.
func (c *connection) asked(params json.RawMessage) (json.RawMessage, error) {
	c.asking.mu.Lock()
	calls := slices.Clone(c.asking.calls)
	busy := c.asking.open >= maxQuestions
	if len(calls) > 0 && !busy {
		c.asking.open++
	}
	c.asking.mu.Unlock()
	switch {
	case len(calls) == 0:
		return nil, errNoCall
	case busy:
		return declined, nil
	}
	defer func() {
		c.asking.mu.Lock()
		defer c.asking.mu.Unlock()
		c.asking.open--
	}()
	// Any of them may be the one that waits for the answer.
	for _, ctx := range calls[1:] {
		defer c.config.Thinking(ctx)()
	}
	return c.elicit(calls[0], params), nil
}

// elicit puts a question and returns the raw ElicitResult, whatever happens.
// Time in which the user thinks is not the call's.
func (c *connection) elicit(ctx context.Context, params json.RawMessage) json.RawMessage {
	defer c.config.Thinking(ctx)()
	answer, err := c.config.Elicit(ctx, params)
	if err != nil {
		c.config.Logger.Warn("a question of the server was declined", "error", err)
		return declined
	}
	return answer
}
