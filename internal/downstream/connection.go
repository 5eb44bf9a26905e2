package downstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// discoverTimeout is how long a server may ignore server/discover before it is
// taken to speak an older protocol.
const discoverTimeout = 5 * time.Second

// errDied is the error of a handshake in which the server ended the connection.
var errDied = errors.New("connection ended during the handshake")

// connection is one live connection to a server, from handshake to loss.
type connection struct {
	config Config
	link   link
	client *client.Client
	info   *mcp.InitializeResult
	stderr *lastLines // of a process; empty with HTTP

	// offersChanged is told the method of a notification that the resources or
	// the prompts have changed. It must not block.
	offersChanged func(method string)
	listChanged   chan struct{} // capacity 1: the tool list is to be read again
	disturbed     chan struct{} // capacity 1: the connection is to be checked
	inFlight      atomic.Int64  // calls
	lastUsed      atomic.Int64  // unix nanoseconds
	progress      progress
	asking        *asking // nil unless the server may ask the user
	checking      sync.Mutex
	background    sync.WaitGroup
}

// dial connects, within ctx. legacy leaves out the probe for 2026-07-28, which
// some older servers do not survive.
func dial(ctx context.Context, config Config, stderr *lastLines, offersChanged func(method string), legacy bool) (*connection, error) {
	c := &connection{
		config:        config,
		stderr:        stderr,
		offersChanged: offersChanged,
		listChanged:   make(chan struct{}, 1),
		disturbed:     make(chan struct{}, 1),
	}
	elicitation := c.elicitation()
	handle := handlers{notified: c.notified}
	if c.asking != nil {
		handle.asked = c.asked
	}
	var wrapped transport.Interface
	switch config.Transport {
	case "stdio":
		c.link = newStdioLink(config, stderr, handle)
		wrapped = adapter{c.link}
	case "http":
		c.link = newStreamableLink(config, handle)
		wrapped = httpAdapter{adapter{c.link}}
	case "sse":
		c.link = newSSELink(config, handle)
		wrapped = httpAdapter{adapter{c.link}}
	default:
		return nil, fmt.Errorf("transport %q is not stdio, http or sse", config.Transport)
	}
	if err := c.link.open(ctx); err != nil {
		err = c.explain(ctx, "connect", err)
		c.link.close()
		return nil, err
	}
	options := []client.ClientOption{client.WithDiscoverTimeout(min(discoverTimeout, config.ConnectTimeout/3))}
	options = append(options, elicitation...)
	if legacy {
		options = append(options, client.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	}
	c.client = client.NewClient(wrapped, options...)
	request := mcp.InitializeRequest{}
	request.Params.ClientInfo = mcp.Implementation{Name: "ptc-mcp", Version: config.ClientVersion}
	got := &capture{show: whole}
	info, err := c.client.Initialize(withCapture(ctx, got), request)
	if err != nil {
		if got.err != nil { // the client leaves out its data
			err = got.err
		}
		err = c.explain(ctx, "handshake", err)
		var unauthenticated *unauthenticatedError
		if c.lost() != nil && !errors.As(err, &unauthenticated) {
			err = fmt.Errorf("%w: %w", errDied, err)
		}
		c.link.close()
		return nil, err
	}
	c.info = info
	c.used()
	c.follow()
	return c, nil
}

// explain gives the error that says most about a failed step.
func (c *connection) explain(ctx context.Context, step string, err error) error {
	if cause := c.lost(); cause != nil {
		return cause
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("%s: no answer in time", step)
		if line := lastLine(c.stderr.String()); line != "" {
			err = fmt.Errorf("%w; its last output: %s", err, line)
		}
		return err
	}
	var wrapped *transport.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("%s: %w", step, rootCause(err))
}

// lost returns why the connection is lost, nil while it is not.
func (c *connection) lost() error { return c.link.cause() }

func (c *connection) modern() bool { return mcp.IsModernProtocol(c.client.ProtocolVersion()) }

// notified handles the server's notifications, on the goroutine that reads.
func (c *connection) notified(method string, params json.RawMessage) {
	switch method {
	case string(mcp.MethodNotificationToolsListChanged):
		poke(c.listChanged)
	case string(mcp.MethodNotificationResourcesListChanged), string(mcp.MethodNotificationPromptsListChanged):
		c.offersChanged(method)
	case "notifications/progress":
		c.progress.notify(params)
	case "notifications/message":
		c.config.Logger.Debug("message of the server", "message", beginning(params))
	}
}

func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// follow has the server's notifications come in, as the protocol in use wants
// it.
func (c *connection) follow() {
	if !c.modern() {
		c.link.listen(func() { poke(c.disturbed) })
		return
	}
	if filter := c.changes(); !filter.IsEmpty() {
		c.background.Go(c.subscribe)
	}
}

// changes are those that the server tells of.
func (c *connection) changes() mcp.SubscriptionFilter {
	capabilities := c.info.Capabilities
	return mcp.SubscriptionFilter{
		ToolsListChanged:     capabilities.Tools != nil && capabilities.Tools.ListChanged,
		ResourcesListChanged: capabilities.Resources != nil && capabilities.Resources.ListChanged,
		PromptsListChanged:   capabilities.Prompts != nil && capabilities.Prompts.ListChanged,
	}
}

// subscribe keeps a subscription to the server's changes open.
func (c *connection) subscribe() {
	ctx := c.link.lifetime()
	for delay := reopenDelay; ; delay = min(2*delay, maxReopenDelay) {
		started := time.Now()
		got := &capture{show: whole}
		err := c.client.Listen(withCapture(ctx, got), c.changes())
		if ctx.Err() != nil {
			return
		}
		if got.err != nil {
			c.config.Logger.Warn("server refuses subscriptions: changes of what it offers will go unnoticed", "error", got.err)
			return
		}
		c.config.Logger.Debug("subscription ended", "error", err)
		poke(c.disturbed)
		if time.Since(started) > maxReopenDelay {
			delay = reopenDelay
		}
		if !wait(ctx, delay) {
			return
		}
		poke(c.listChanged) // what was missed in between
	}
}

// callTool makes one call and returns the raw result. progress, unless nil, is
// called with the parameters of each progress notification about it.
func (c *connection) callTool(ctx context.Context, name string, arguments json.RawMessage, progress func(json.RawMessage)) (json.RawMessage, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if err := scanObject(arguments, nil); err != nil {
		return nil, fmt.Errorf("arguments are not a JSON object: %w", err)
	}
	request := mcp.CallToolRequest{}
	request.Params.Name = name
	request.Params.RawArguments = arguments
	if progress != nil {
		token := c.progress.follow(progress)
		defer c.progress.forget(token)
		request.Params.Meta = &mcp.Meta{ProgressToken: token}
	}
	return c.ask(ctx, func(ctx context.Context) error {
		_, err := c.client.CallTool(ctx, request)
		return err
	})
}

// ask makes one request by way of mcp-go's client and returns the raw result,
// an object, which the client does not decode. mcp-go decorates the request as
// the protocol in use wants it, and repeats it while the server sheds load.
func (c *connection) ask(ctx context.Context, send func(ctx context.Context) error) (json.RawMessage, error) {
	c.inFlight.Add(1)
	defer func() { c.used(); c.inFlight.Add(-1) }()
	if c.asking != nil {
		var end func()
		ctx, end = c.asking.begin(ctx)
		defer end()
	}

	asksForInput := false
	got := &capture{show: func(result json.RawMessage) (json.RawMessage, bool) {
		asksForInput = needsInput(result)
		return result, asksForInput
	}}
	err := send(withCapture(ctx, got))
	if errors.Is(err, errCaptured) {
		err = nil
	}
	switch {
	case got.err != nil:
		return nil, got.err
	case err != nil && asksForInput:
		return nil, fmt.Errorf("server asks for input before it answers, which cannot be given: %w", err)
	case err != nil:
		var wrapped *transport.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, err
	case int64(len(got.result)) > c.config.resultLimit():
		return nil, &TooLargeError{Limit: c.config.MaxResultBytes}
	case len(got.result) == 0 || got.result[0] != '{':
		return nil, fmt.Errorf("server answered with a result that is not an object: %s", beginning(got.result))
	}
	return got.result, nil
}

// maxQuestion bounds a result that asks for input, in bytes.
const maxQuestion = 1 << 20

// needsInput reports whether a result of 2026-07-28 asks for more input
// instead of being the end of the call.
func needsInput(result json.RawMessage) bool {
	word := []byte(`"` + mcp.ResultTypeInputRequired + `"`)
	// A look for the word is much quicker than a scan, and what asks is short.
	if len(result) > maxQuestion || !bytes.Contains(result, word) {
		return false
	}
	found := false
	_ = scanObject(result, func(key string, value json.RawMessage) {
		found = found || key == "resultType" && bytes.Equal(value, word)
	})
	return found
}

func (c *connection) used() { c.lastUsed.Store(time.Now().UnixNano()) }

// idle reports whether nothing has been heard of the server for d.
func (c *connection) idle(d time.Duration) bool {
	return c.inFlight.Load() == 0 && time.Since(time.Unix(0, c.lastUsed.Load())) >= d
}

// check finds out whether the connection still works, and declares it lost if
// not. A server that answers anything at all is alive; one that is silent for
// as long as within is not.
func (c *connection) check(ctx context.Context, within time.Duration) {
	c.checking.Lock()
	defer c.checking.Unlock()
	if c.lost() != nil || ctx.Err() != nil {
		return
	}
	pinging, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var err error
	if c.modern() { // which has no ping
		_, err = c.client.Discover(pinging, mcp.DiscoverRequest{})
	} else {
		err = c.client.Ping(pinging) //nolint:staticcheck // the older protocols have it
	}
	switch {
	case errors.Is(err, ErrLost), errors.Is(err, ErrDown):
		c.link.fail(rootCause(err))
	case ctx.Err() == nil && pinging.Err() != nil:
		c.link.fail(errors.New("server does not answer pings"))
	default:
		c.used()
	}
}

// close ends the connection and everything it started.
func (c *connection) close() {
	c.link.close()
	c.background.Wait()
}
