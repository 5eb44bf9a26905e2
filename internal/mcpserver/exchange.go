package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// From 2026-07-28 on a question is a result, input_required, which ends the
// client's request; the client makes the request again, with the answer. The
// work meanwhile goes on: an exchange is that work, which outlives the request
// that began it and is answered under the id of the last.

const (
	// maxThinking is how long a client may take to come back with an answer;
	// then the work is cancelled.
	maxThinking = 15 * time.Minute
	// maxParked bounds the exchanges of one client that wait for an answer.
	maxParked = 64
	// questionKey is what the one question of a result is called.
	questionKey = "question"
)

// exchange is the work for one request and those that take it up again.
type exchange struct {
	id        json.RawMessage // of the first request, under which the answer is encoded
	cancel    context.CancelFunc
	questions chan parkedQuestion
	finished  chan []byte             // capacity 1: the encoded answer
	progress  atomic.Pointer[reports] // nil while no request is open
}

// reports are where the progress of a request goes.
type reports struct {
	notify notifier
	send   sender
}

type parkedQuestion struct {
	params json.RawMessage
	answer chan json.RawMessage // capacity 1
}

// parked are the exchanges that wait for an answer, by the state that the client
// was given.
type parked struct {
	mu   sync.Mutex
	open map[string]*waiting
}

type waiting struct {
	*exchange
	question parkedQuestion
	expiry   *time.Timer
}

// begin starts the work for a request of a client that can be asked.
func (c *connection) begin(ctx context.Context, id json.RawMessage, can answerable, handle func(ctx context.Context) []byte) *exchange {
	ctx, cancel := context.WithCancel(ctx)
	x := &exchange{id: id, cancel: cancel, questions: make(chan parkedQuestion), finished: make(chan []byte, 1)}
	ctx = tool.WithAsker(ctx, func(ctx context.Context, q tool.Question) (json.RawMessage, error) {
		params, err := can.question(q)
		if err != nil {
			return nil, err
		}
		asked := parkedQuestion{params, make(chan json.RawMessage, 1)}
		select {
		case x.questions <- asked:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		select {
		case answer := <-asked.answer:
			return checkAnswer(answer)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	ctx = withNotifier(ctx, func(progress float64, message string) {
		if to := x.progress.Load(); to != nil && to.notify != nil {
			to.notify(progress, message)
		}
	})
	ctx = withSender(ctx, func(params json.RawMessage) {
		if to := x.progress.Load(); to != nil && to.send != nil {
			to.send(params)
		}
	})
	go func() {
		defer cancel()
		x.finished <- handle(ctx)
	}()
	return x
}

// follow answers a request with what becomes of the exchange: the end of the
// work, or its next question. ctx is the request's.
func (c *connection) follow(ctx context.Context, r *request, id json.RawMessage, x *exchange, to *reports) {
	x.progress.Store(to)
	defer x.progress.Store(nil)
	select {
	case response := <-x.finished:
		c.answer(r, withID(response, x.id, id))
	case q := <-x.questions:
		x.progress.Store(nil)
		state, ok := c.park(x, q)
		if !ok {
			q.answer <- json.RawMessage(`{"action":"decline"}`)
			c.follow(ctx, r, id, x, to)
			return
		}
		c.answer(r, inputRequired(id, state, q.params))
	case <-ctx.Done():
		x.cancel()
		c.answer(r, withID(<-x.finished, x.id, id))
	}
}

// park keeps an exchange until the client comes back; false means that too many
// are kept.
func (c *connection) park(x *exchange, q parkedQuestion) (state string, ok bool) {
	c.parked.mu.Lock()
	defer c.parked.mu.Unlock()
	if len(c.parked.open) >= maxParked {
		return "", false
	}
	if c.parked.open == nil {
		c.parked.open = make(map[string]*waiting)
	}
	state = rand.Text()
	c.parked.open[state] = &waiting{x, q, time.AfterFunc(maxThinking, func() {
		if w := c.unpark(state); w != nil {
			w.cancel()
		}
	})}
	return state, true
}

// unpark takes an exchange up again; nil when there is none of that state.
func (c *connection) unpark(state string) *waiting {
	c.parked.mu.Lock()
	defer c.parked.mu.Unlock()
	w := c.parked.open[state]
	delete(c.parked.open, state)
	if w != nil {
		w.expiry.Stop()
	}
	return w
}

// resume passes a client's answer on and follows its exchange.
func (c *connection) resume(ctx context.Context, r *request, id json.RawMessage, retry retried, to *reports) {
	w := c.unpark(retry.State)
	if w == nil {
		c.answer(r, errorResponse(id, mcp.INVALID_PARAMS, "requestState belongs to no call that waits for an answer; make the call anew, without it"))
		return
	}
	w.question.answer <- retry.Responses[questionKey]
	c.follow(ctx, r, id, w.exchange, to)
}

// retried is what a request has that brings an answer.
type retried struct {
	State     string                     `json:"requestState"`
	Responses map[string]json.RawMessage `json:"inputResponses"`
}

// inputRequired is the result that asks a question.
func inputRequired(id json.RawMessage, state string, params json.RawMessage) []byte {
	encoded, err := marshal(resultResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: map[string]any{
		"resultType":    mcp.ResultTypeInputRequired,
		"inputRequests": map[string]any{questionKey: map[string]any{"method": mcp.MethodElicitationCreate, "params": params}},
		"requestState":  state,
	}})
	if err != nil { // cannot happen: all of it has been encoded before
		return errorResponse(id, mcp.INTERNAL_ERROR, "internal error: "+err.Error())
	}
	return encoded
}

// withID is a response under another id.
func withID(response []byte, old, id json.RawMessage) []byte {
	head := func(id json.RawMessage) []byte { return append([]byte(`{"jsonrpc":"2.0","id":`), id...) }
	if rest, ok := bytes.CutPrefix(response, head(old)); ok {
		return append(head(id), rest...)
	}
	return response
}
