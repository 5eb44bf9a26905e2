package downstream

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// link carries messages to one server: over the pipes of a process, or HTTP.
// It is used for one connection and then thrown away.
type link interface {
	// open connects. ctx bounds only the opening.
	open(ctx context.Context) error
	// request sends one request and waits for its response. An error is
	// ErrDown if nothing was sent, ErrLost if the connection broke, a
	// *TooLargeError, ctx's error, or an *httpStatusError.
	request(ctx context.Context, call outgoing) (response, error)
	// notify sends a notification.
	notify(ctx context.Context, body []byte) error
	// listen receives what a server sends outside of requests before protocol
	// 2026-07-28, where that takes a stream of its own. disturbed is called
	// when that stream broke and when it is there again: the connection may be
	// lost, and notifications may have been missed.
	listen(disturbed func())
	// setVersion tells the negotiated protocol version.
	setVersion(version string)
	// fail declares the connection lost.
	fail(cause error)
	// lifetime ends when the connection is lost; cause is why, nil before.
	lifetime() context.Context
	cause() error
	// close ends everything the link started, within about two seconds.
	close()
}

// outgoing is one request, encoded.
type outgoing struct {
	id     string
	method string
	body   []byte
	header map[string][]string
}

// adapter lets mcp-go's client speak over a link, and keeps the raw result of
// a request whose context carries a capture.
type adapter struct{ link link }

// httpAdapter is the adapter of HTTP links: mcp-go recognises them by this
// method.
type httpAdapter struct{ adapter }

func (a httpAdapter) SetProtocolVersion(version string) { a.link.setVersion(version) }

var (
	_ transport.Interface      = adapter{}
	_ transport.HTTPConnection = httpAdapter{}
)

// capture receives what mcp-go's client would decode.
type capture struct {
	result json.RawMessage
	err    *RPCError
	// show returns what the client decodes in place of result. Without decode it
	// decodes nothing, and the request ends with errCaptured.
	show func(result json.RawMessage) (shown json.RawMessage, decode bool)
}

// errCaptured ends a request whose result nobody needs to decode. Decoding even
// an empty one takes the client a quarter of what all of a call allocates.
var errCaptured = errors.New("result captured")

// whole shows the client everything.
func whole(result json.RawMessage) (json.RawMessage, bool) { return result, true }

type captureKey struct{}

func withCapture(ctx context.Context, c *capture) context.Context {
	return context.WithValue(ctx, captureKey{}, c)
}

// SendRequest implements transport.Interface.
func (a adapter) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	id, err := request.ID.MarshalJSON()
	if err != nil {
		return nil, err
	}
	c, _ := ctx.Value(captureKey{}).(*capture)
	if c != nil {
		c.result, c.err = nil, nil // of an earlier request
	}
	got, err := a.link.request(ctx, outgoing{id: idKey(string(id)), method: request.Method, body: body, header: request.Header})
	if err != nil {
		return nil, err
	}
	answer := &transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: request.ID, Result: got.result}
	switch {
	case got.err != nil:
		details := mcp.NewJSONRPCErrorDetails(got.err.Code, got.err.Message, nil)
		if got.err.Data != nil {
			_ = json.Unmarshal(got.err.Data, &details.Data)
		}
		answer.Error = &details
		if c != nil {
			c.err = got.err
		}
	case c != nil:
		c.result = got.result
		shown, decode := c.show(got.result)
		if !decode {
			return nil, errCaptured
		}
		answer.Result = shown
	}
	return answer, nil
}

// SendNotification implements transport.Interface.
func (a adapter) SendNotification(ctx context.Context, notification mcp.JSONRPCNotification) error {
	body, err := json.Marshal(notification)
	if err != nil {
		return err
	}
	return a.link.notify(ctx, body)
}

// Start, Close and the rest of transport.Interface are not used: a link is
// opened, closed and listened to by its connection.

// Start implements transport.Interface.
func (a adapter) Start(context.Context) error { return nil }

// Close implements transport.Interface.
func (a adapter) Close() error { return nil }

// GetSessionId implements transport.Interface.
func (a adapter) GetSessionId() string { return "" }

// SetNotificationHandler implements transport.Interface.
func (a adapter) SetNotificationHandler(func(mcp.JSONRPCNotification)) {}
