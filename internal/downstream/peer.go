package downstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxMalformed is how many messages in a row may be unreadable before the
// connection is given up. Servers that log to standard output are common.
const maxMalformed = 1000

// maxAnswers bounds the answers to a server's requests that are under way.
const maxAnswers = 64

// answerTimeout bounds the sending of one of them.
const answerTimeout = 10 * time.Second

// reply is the end of a request: the server's response, or why there is none.
type reply struct {
	response
	lost error
}

// peer is the JSON-RPC side that every transport shares: it matches responses
// to requests, answers the server's requests, passes notifications on, and
// remembers that the connection is lost.
type peer struct {
	limit  int64 // of one message
	result int64 // what a TooLargeError names
	logger *slog.Logger
	handlers
	// send sends the answer to a server's request.
	send func(ctx context.Context, message []byte) error

	ctx       context.Context // ends, with the cause, when the connection is lost
	cancel    context.CancelCauseFunc
	slots     chan struct{} // maxAnswers
	malformed atomic.Int64  // in a row
	tasks     group         // everything that must be over when the link is closed

	mu      sync.Mutex
	pending map[string]chan reply
}

// handlers take what a server sends on its own.
type handlers struct {
	// notified is called with each notification, from the goroutine that
	// reads, so it must not block.
	notified func(method string, params json.RawMessage)
	// asked answers elicitation/create, in the time that takes; nil where that
	// was not declared.
	asked func(params json.RawMessage) (json.RawMessage, error)
}

func newPeer(config Config, handle handlers) *peer {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &peer{
		limit:    config.messageLimit(),
		result:   config.MaxResultBytes,
		logger:   config.Logger,
		handlers: handle,
		ctx:      ctx,
		cancel:   cancel,
		slots:    make(chan struct{}, maxAnswers),
		pending:  make(map[string]chan reply),
	}
}

func (p *peer) lifetime() context.Context { return p.ctx }

func (p *peer) cause() error { return context.Cause(p.ctx) }

// lost returns nil while the connection is up, else an ErrLost with the cause.
func (p *peer) lost() error {
	if p.ctx.Err() == nil {
		return nil
	}
	return brokenError(ErrLost, p.cause())
}

// fail ends the connection: every pending request fails with cause.
func (p *peer) fail(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel(cause)
	err := p.lost()
	for id, ch := range p.pending {
		ch <- reply{lost: err}
		delete(p.pending, id)
	}
}

// expect registers a request before it is sent. The channel gets one reply.
// An error means that the connection is lost and nothing must be sent.
func (p *peer) expect(id string) (<-chan reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return nil, brokenError(ErrDown, p.cause())
	}
	ch := make(chan reply, 1)
	p.pending[id] = ch
	return ch, nil
}

// forget drops a request whose answer is no longer wanted.
func (p *peer) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pending, id)
}

func (p *peer) deliver(id string, r reply) {
	p.mu.Lock()
	ch := p.pending[id]
	delete(p.pending, id)
	p.mu.Unlock()
	if ch == nil {
		p.logger.Debug("ignored an answer nobody waits for", "id", id)
		return
	}
	ch <- r
}

// receive handles one message from the server. Unreadable ones are skipped,
// too many of them in a row lose the connection.
func (p *peer) receive(m *message) {
	if m.tooLarge() {
		p.receiveTooLarge(m)
		return
	}
	data := m.bytes()
	if len(bytes.TrimSpace(data)) == 0 {
		return // a blank line, or an event that only carries an id
	}
	if err := parseMessages(data, p.handle); err != nil {
		row := p.malformed.Add(1)
		p.logger.Debug("skipped a message that is not JSON-RPC", "error", err, "begins", beginning(data))
		if row >= maxMalformed {
			p.fail(fmt.Errorf("server sent %d unreadable messages in a row", row))
		}
		return
	}
	p.malformed.Store(0)
}

func (p *peer) receiveTooLarge(m *message) {
	p.malformed.Store(0)
	p.logger.Warn("dropped a message over the size limit", "bytes", m.size, "limit", p.limit)
	if m.id.hasMethod || m.id.id == "" {
		return
	}
	p.deliver(idKey(m.id.id), reply{lost: &TooLargeError{Limit: p.result}})
}

func (p *peer) handle(env envelope) {
	switch {
	case env.method == "" && env.hasID():
		p.deliver(idKey(string(env.id)), reply{response: env.response()})
	case env.method == "":
		p.logger.Debug("ignored an answer without an id", "error", string(env.err))
	case env.hasID():
		p.answer(env)
	default:
		p.notified(env.method, env.params)
	}
}

// answer replies to a request of the server.
func (p *peer) answer(env envelope) {
	select {
	case p.slots <- struct{}{}:
	default:
		p.logger.Debug("dropped a request of the server: too many are unanswered", "method", env.method)
		return
	}
	p.tasks.run(func() {
		defer func() { <-p.slots }()
		message := p.reply(env)
		ctx, cancel := context.WithTimeout(p.ctx, answerTimeout)
		defer cancel()
		if err := p.send(ctx, message); err != nil {
			p.logger.Debug("could not answer a request of the server", "method", env.method, "error", err)
		}
	})
}

// reply is the response to a request of the server. What the handshake did not
// offer is an unknown method.
func (p *peer) reply(env envelope) []byte {
	result, code, problem := json.RawMessage("{}"), 0, ""
	switch {
	case env.method == "ping":
	case env.method == string(mcp.MethodElicitationCreate) && p.asked != nil:
		var err error
		if result, err = p.asked(env.params); err != nil {
			code, problem = codeInvalidRequest, err.Error()
		}
	default:
		code, problem = codeMethodNotFound, "method not found: "+env.method
	}
	if problem == "" {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, env.id, result)
	}
	text, _ := json.Marshal(problem)
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, env.id, code, text)
}

// beginning is the first part of a text, for logs and errors.
func beginning(data []byte) string {
	const most = 200
	text := strings.ToValidUTF8(string(data[:min(len(data), most)]), "\uFFFD")
	if len(data) > most {
		text += "…"
	}
	return text
}
