package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// Why a request is not taken.
var (
	errDuplicateID = errors.New("a request with this id is still being answered; use a new id")
	errTooMany     = errors.New("too many requests at once; send more when some have been answered")
	errEnding      = errors.New("the server is ending")
)

// inflight is the table of requests being answered. A request is in it before
// the next message is read, so that a cancellation always finds it.
type inflight struct {
	max int

	mu       sync.Mutex
	requests map[string]*request
	ending   bool
	empty    chan struct{} // closed when ending and no request is left
}

// request is one request being answered.
type request struct {
	cancel    context.CancelFunc
	cancelled bool
}

func newInflight(limit int) *inflight {
	return &inflight{max: limit, requests: make(map[string]*request), empty: make(chan struct{})}
}

// add takes a request in under its key.
func (t *inflight) add(key string, cancel context.CancelFunc) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ending:
		return errEnding
	case t.requests[key] != nil:
		return errDuplicateID
	case len(t.requests) >= t.max:
		return errTooMany
	}
	t.requests[key] = &request{cancel: cancel}
	return nil
}

// cancel ends the request with the key, if there is one; it will not be
// answered.
func (t *inflight) cancel(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.requests[key]; r != nil {
		r.cancelled = true
		r.cancel()
	}
}

// cancelled reports whether the client has cancelled the request.
func (t *inflight) cancelled(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.requests[key]
	return r != nil && r.cancelled
}

// remove takes a request out, once it has been answered or needs no answer.
func (t *inflight) remove(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.requests[key]; r != nil {
		r.cancel()
		delete(t.requests, key)
	}
	t.closeIfEmpty()
}

// end refuses further requests. The channel it returns is closed when the last
// one has left.
func (t *inflight) end() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ending {
		t.ending = true
		t.closeIfEmpty()
	}
	return t.empty
}

func (t *inflight) closeIfEmpty() {
	if t.ending && len(t.requests) == 0 {
		select {
		case <-t.empty:
		default:
			close(t.empty)
		}
	}
}

// count returns how many requests are being answered.
func (t *inflight) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.requests)
}

// idKey returns the key of a JSON-RPC id: a string or a number, which never
// meet. False means that the id is neither.
func idKey(id json.RawMessage) (string, bool) {
	id = bytes.TrimSpace(id)
	if len(id) == 0 {
		return "", false
	}
	switch c := id[0]; {
	case c == '"':
		var s string
		if json.Unmarshal(id, &s) != nil {
			return "", false
		}
		return "s" + s, true
	case c == '-' || '0' <= c && c <= '9':
		return "n" + string(id), true
	}
	return "", false
}

// isID reports whether a value can be the id of a request, or the token of its
// progress.
func isID(value json.RawMessage) bool {
	_, ok := idKey(value)
	return ok
}
