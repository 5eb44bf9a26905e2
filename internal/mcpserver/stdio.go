package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// Bounds of the stdio loop.
const (
	// maxLineBytes is the longest message taken from a client.
	maxLineBytes = 64 << 20
	// maxInflight bounds the requests being answered or waiting.
	maxInflight = 4096
	// maxCalls bounds the tools/call requests at work; more wait, while every
	// other request is still answered.
	maxCalls = 256
	// endGrace is how long ServeStdio waits for its requests after the client
	// has gone.
	endGrace = 5 * time.Second
)

// codeBusy is the JSON-RPC error code of a request refused because of too many
// others.
const codeBusy = -32000

// ServeStdio serves one client over newline-delimited JSON until the input
// ends, the output breaks or ctx is cancelled. Each of these cancels the calls
// under way; ServeStdio then waits for them, up to endGrace, and returns. Only
// MCP messages are written to stdout.
//
// The end of the input and of ctx are ordinary and return nil. After ctx has
// ended, a goroutine may stay in stdin.Read until that returns.
func (s *Server) ServeStdio(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &connection{
		server:   s,
		session:  newSession(s.watchedText),
		requests: newInflight(maxInflight),
		calls:    make(chan struct{}, maxCalls),
		out:      &lineWriter{w: stdout, onError: func(err error) { cancel(err) }},
	}
	s.clients.add(c)
	defer s.clients.remove(c)
	go s.announce(ctx)
	var readErr error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		readErr = c.read(s.mcp.WithContext(ctx, c.session), newLineReader(stdin, s.maxLine))
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	var err error
	if ctx.Err() == nil {
		err = readErr
	} else if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		err = cause // the writer's
	}
	left := c.requests.end()
	cancel(nil)
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case <-left:
	case <-timer.C:
		err = errors.Join(err, fmt.Errorf("mcpserver: %d requests did not end within %v", c.requests.count(), endGrace))
	}
	return err
}

// connection is one client on one pair of streams.
type connection struct {
	server   *Server
	session  *session
	requests *inflight
	calls    chan struct{} // one place for each call at work
	out      *lineWriter

	subscriptions subscriptions
	questions     questions
	parked        parked
}

// envelope is what the loop itself looks at in a message.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Params struct {
		retried
		RequestID json.RawMessage `json:"requestId"`
		Reason    string          `json:"reason"`
		Meta      struct {
			ProgressToken json.RawMessage         `json:"progressToken"`
			Version       string                  `json:"io.modelcontextprotocol/protocolVersion"`
			Capabilities  *mcp.ClientCapabilities `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	} `json:"params"`
}

// read takes messages until the input or ctx ends.
func (c *connection) read(ctx context.Context, lines *lineReader) error {
	for ctx.Err() == nil {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLineTooLong):
			c.refuse(nil, mcp.PARSE_ERROR, fmt.Sprintf("message longer than %d bytes", c.server.maxLine))
		case err != nil:
			return fmt.Errorf("mcpserver: read from the client: %w", err)
		case ctx.Err() == nil:
			c.take(ctx, bytes.TrimSpace(line))
		}
	}
	return nil
}

// take starts the work for one message. Blank lines are none.
func (c *connection) take(ctx context.Context, line []byte) {
	if len(line) == 0 {
		return
	}
	var e envelope
	if line[0] == '[' && json.Valid(line) {
		c.refuse(nil, mcp.INVALID_REQUEST, "batches are not supported; send one message a line")
		return
	}
	if err := json.Unmarshal(line, &e); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			c.refuse(nil, mcp.PARSE_ERROR, "message is not valid JSON: "+err.Error())
			return
		}
		// A member of the wrong type: parameters are for the method to judge.
		var wrong *json.UnmarshalTypeError
		if !errors.As(err, &wrong) || !strings.HasPrefix(wrong.Field, "params") {
			id := e.ID
			if !isID(id) {
				id = nil
			}
			c.refuse(id, mcp.INVALID_REQUEST, "message is not a JSON-RPC 2.0 object: "+err.Error())
			return
		}
	}
	switch {
	case e.Method == nil && e.ID == nil:
		c.refuse(nil, mcp.INVALID_REQUEST, "message has neither a method nor an id")
	case e.Method == nil:
		c.answered(e.ID, line)
	case e.ID == nil:
		c.notified(ctx, *e.Method, &e, line)
	default:
		c.requested(ctx, *e.Method, &e, line)
	}
}

// notified handles a notification, before the next message is read.
func (c *connection) notified(ctx context.Context, method string, e *envelope, line []byte) {
	if method == string(mcp.MethodNotificationCancelled) {
		if key, ok := idKey(e.Params.RequestID); ok {
			c.server.logger.Debug("request cancelled by the client", slog.String("id", key), slog.String("reason", shorten(e.Params.Reason, 200)))
			c.requests.cancel(key)
		}
		return
	}
	c.handle(ctx, method, nil, line)
}

// requested starts the answer to a request. The request is in the table when
// requested returns.
func (c *connection) requested(ctx context.Context, method string, e *envelope, line []byte) {
	key, ok := idKey(e.ID)
	if !ok {
		c.refuse(nil, mcp.INVALID_REQUEST, "the id of a request must be a string or a number")
		return
	}
	lasting := ctx // for what may outlive the request
	ctx, cancel := context.WithCancel(ctx)
	r, err := c.requests.add(key, cancel)
	if err != nil {
		cancel()
		code := mcp.INVALID_REQUEST
		if errors.Is(err, errTooMany) {
			code = codeBusy
		}
		c.refuse(e.ID, code, err.Error())
		return
	}
	to := &reports{}
	if token := e.Params.Meta.ProgressToken; isID(token) {
		to.notify, to.send = c.notifier(r, token), c.sender(r, token)
		ctx = withSender(withNotifier(ctx, to.notify), to.send)
	}
	modern := mcp.IsModernProtocol(e.Params.Meta.Version)
	can := answerable{}
	if modern && e.Params.Meta.Capabilities != nil {
		can = answerableBy(e.Params.Meta.Capabilities.Elicitation)
	}
	if modern {
		c.server.greeted(can)
	} else {
		ctx = tool.WithAsker(ctx, c.ask)
	}
	handle := func(ctx context.Context) []byte {
		if method == string(mcp.MethodToolsCall) {
			// A cancelled or abandoned call leaves the queue at once.
			select {
			case c.calls <- struct{}{}:
				defer func() { <-c.calls }()
			case <-ctx.Done():
				if r.isCancelled() {
					return nil
				}
			}
		}
		return c.handle(ctx, method, e.ID, line)
	}
	work := func() {
		defer r.done()
		switch {
		case method == string(mcp.MethodSubscriptionsListen):
			var response []byte
			c.listen(key, e.ID, func() { response = handle(ctx) })
			c.answer(r, response)
		case modern && e.Params.State != "":
			c.resume(ctx, r, e.ID, e.Params.retried, to)
		case takesQuestions(method) && (can.form || can.url):
			c.follow(ctx, r, e.ID, c.begin(lasting, e.ID, can, handle), to)
		default:
			c.answer(r, handle(ctx))
		}
	}
	if method == string(mcp.MethodInitialize) {
		// Everything after the handshake comes after it.
		work()
		c.server.greeted(answerableBy(c.session.GetClientCapabilities().Elicitation))
		return
	}
	go work()
}

// takesQuestions reports whether a request may be answered with a question.
func takesQuestions(method string) bool {
	switch method {
	case string(mcp.MethodToolsCall), string(mcp.MethodResourcesRead), string(mcp.MethodPromptsGet):
		return true
	}
	return false
}

// notifier returns the progress notifications of one request. Nothing is sent
// for a request that has been cancelled.
func (c *connection) notifier(r *request, token json.RawMessage) notifier {
	return func(progress float64, message string) {
		if r.isCancelled() {
			return
		}
		line, err := marshal(progressNotification{
			JSONRPC: mcp.JSONRPC_VERSION,
			Method:  "notifications/progress",
			Params:  progressParams{Token: token, Progress: progress, Message: message},
		})
		if err != nil {
			c.server.logger.Error("progress notification cannot be encoded", slog.Any("error", err))
			return
		}
		c.out.write(line)
	}
}

// handle lets mcp-go answer one message and returns the encoded answer; nil for
// a notification. A panic becomes an internal error of that request alone.
func (c *connection) handle(ctx context.Context, method string, id json.RawMessage, line []byte) (response []byte) {
	defer func() {
		if p := recover(); p != nil {
			c.server.logger.Error("panic while answering a request", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			if id != nil {
				response = errorResponse(id, mcp.INTERNAL_ERROR, fmt.Sprintf("internal error: %s; this is a fault of ptc-mcp, the server goes on", shorten(fmt.Sprint(p), 300)))
			}
		}
	}()
	message := c.server.mcp.HandleMessage(ctx, line)
	if message == nil || id == nil {
		return nil
	}
	message = missingResource(method, line, message)
	encoded, err := c.server.passOn(ctx, method, id, line, message)
	if err != nil {
		c.server.logger.Error("result cannot be encoded", slog.Any("error", err))
		return errorResponse(id, mcp.INTERNAL_ERROR, "internal error: the result cannot be encoded as JSON: "+err.Error())
	}
	return encoded
}

// answer writes the response of a request unless the client has cancelled it,
// after the notifications that mcp-go has queued before it.
func (c *connection) answer(r *request, response []byte) {
	if !r.settle() {
		return
	}
	var lines [][]byte
	for {
		select {
		case n := <-c.session.notifications:
			line, err := marshal(n)
			if err != nil {
				c.server.logger.Error("notification cannot be encoded", slog.Any("error", err))
				continue
			}
			lines = append(lines, line)
			continue
		default:
		}
		break
	}
	c.out.write(append(lines, response)...)
}

// refuse answers a message that is not handled. A nil id is written as null.
func (c *connection) refuse(id json.RawMessage, code int, message string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	c.server.logger.Debug("message refused", slog.Int("code", code), slog.String("reason", message))
	c.out.write(errorResponse(id, code, message))
}
