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
	active   int // requests in the table, or whose answer is being written
	ending   bool
	empty    chan struct{} // closed when ending and none is active
}

// request is one request being answered.
type request struct {
	table  *inflight
	key    string
	cancel context.CancelFunc
	// Guarded by table.mu.
	cancelled bool
}

func newInflight(limit int) *inflight {
	return &inflight{max: limit, requests: make(map[string]*request), empty: make(chan struct{})}
}

// add takes a request in under its key. The caller calls done on it at last.
func (t *inflight) add(key string, cancel context.CancelFunc) (*request, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ending:
		return nil, errEnding
	case t.requests[key] != nil:
		return nil, errDuplicateID
	case t.active >= t.max:
		return nil, errTooMany
	}
	r := &request{table: t, key: key, cancel: cancel}
	t.requests[key] = r
	t.active++
	return r, nil
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

// isCancelled reports whether the client has cancelled the request.
func (r *request) isCancelled() bool {
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	return r.cancelled
}

// settle frees the id, so that the client may use it again as soon as it has
// the answer, and reports whether there is to be one. No cancellation finds the
// request any more.
func (r *request) settle() bool {
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	delete(r.table.requests, r.key)
	return !r.cancelled
}

// done ends the request, once its answer is written or none is due.
func (r *request) done() {
	r.cancel()
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	if r.table.requests[r.key] == r {
		delete(r.table.requests, r.key)
	}
	r.table.active--
	r.table.closeIfEmpty()
}

// end refuses further requests. The channel it returns is closed when the last
// one is done.
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
	if t.ending && t.active == 0 {
		close(t.empty)
	}
}

// count returns how many requests are not done.
func (t *inflight) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active
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
