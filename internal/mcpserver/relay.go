package mcpserver

import (
	"context"
	"encoding/json"
)

// maxRelayed is how many progress notifications of one direct call may wait
// for a client that is slow to read; more are dropped.
const maxRelayed = 64

// sender sends the client a progress notification with the parameters of
// another server's, under the client's own token. It may block.
type sender func(params json.RawMessage)

type senderKey struct{}

func withSender(ctx context.Context, s sender) context.Context {
	return context.WithValue(ctx, senderKey{}, s)
}

func senderFrom(ctx context.Context) sender {
	s, _ := ctx.Value(senderKey{}).(sender)
	return s
}

// relay passes progress on without holding up whoever brings it.
type relay struct {
	waiting chan json.RawMessage
	done    chan struct{}
}

func newRelay(send sender) *relay {
	r := &relay{waiting: make(chan json.RawMessage, maxRelayed), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for params := range r.waiting {
			send(params)
		}
	}()
	return r
}

// take takes a notification in. It must not be called after close.
func (r *relay) take(params json.RawMessage) {
	select {
	case r.waiting <- params:
	default:
	}
}

// close returns when all that was taken in has been sent.
func (r *relay) close() {
	close(r.waiting)
	<-r.done
}

// sender returns the sender of one request with a progress token.
func (c *connection) sender(r *request, token json.RawMessage) sender {
	return func(params json.RawMessage) {
		var members map[string]json.RawMessage
		if r.isCancelled() || json.Unmarshal(params, &members) != nil {
			return
		}
		members["progressToken"] = token
		c.send(relayedNotification{JSONRPC: "2.0", Method: "notifications/progress", Params: members})
	}
}

type relayedNotification struct {
	JSONRPC string                     `json:"jsonrpc"`
	Method  string                     `json:"method"`
	Params  map[string]json.RawMessage `json:"params"`
}
