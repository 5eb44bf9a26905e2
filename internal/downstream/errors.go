package downstream

import (
	"encoding/json"
	"errors"
	"fmt"
)

var (
	// ErrDown means that the session was not connected and nothing was sent.
	ErrDown = errors.New("server is not connected")
	// ErrLost means that the request was, or may have been, sent and that the
	// connection went away before an answer came.
	ErrLost = errors.New("connection lost before the answer came")
	// ErrTooLarge is what every *TooLargeError is, by errors.Is.
	ErrTooLarge = errors.New("result is too large")
)

// errClosed is the cause when the session was closed on our side.
var errClosed = errors.New("session closed")

// broken is ErrDown or ErrLost with its cause.
type broken struct{ kind, cause error }

func (e *broken) Error() string   { return e.kind.Error() + ": " + e.cause.Error() }
func (e *broken) Unwrap() []error { return []error{e.kind, e.cause} }

// brokenError makes an ErrDown or ErrLost; nil is an unknown cause.
func brokenError(kind, cause error) error {
	if cause = rootCause(cause); cause == nil {
		return kind
	}
	return &broken{kind: kind, cause: cause}
}

// rootCause returns why, without the ErrDown or ErrLost around it.
func rootCause(err error) error {
	var b *broken
	if errors.As(err, &b) {
		return b.cause
	}
	return err
}

// unauthenticatedError is the cause when there are no credentials that the
// server takes.
type unauthenticatedError struct{ cause error }

func (e *unauthenticatedError) Error() string { return e.cause.Error() }
func (e *unauthenticatedError) Unwrap() error { return e.cause }

// TooLargeError means that the server's answer was over the size limit. The
// answer was discarded while it was read; the session goes on.
type TooLargeError struct {
	// Limit is Config.MaxResultBytes.
	Limit int64
}

// Error names the limit in bytes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("result is larger than the limit of %d bytes", e.Limit)
}

// Is makes errors.Is(err, ErrTooLarge) true.
func (e *TooLargeError) Is(target error) bool { return target == ErrTooLarge }

// RPCError is a JSON-RPC error object that the server answered with.
type RPCError struct {
	Code    int
	Message string
	// Data is the raw data member; nil when there was none.
	Data json.RawMessage
}

// Error gives the server's message and code, and the beginning of its data.
func (e *RPCError) Error() string {
	text := fmt.Sprintf("server answered error %d: %s", e.Code, e.Message)
	if len(e.Data) > 0 && string(e.Data) != "null" {
		text += " (" + beginning(e.Data) + ")"
	}
	return text
}

// codeMethodNotFound is JSON-RPC 2.0's code for an unknown method.
const codeMethodNotFound = -32601

// codeInvalidRequest is its code for a request that does not fit in.
const codeInvalidRequest = -32600

func isMethodNotFound(err error) bool {
	var rpc *RPCError
	return errors.As(err, &rpc) && rpc.Code == codeMethodNotFound
}

// httpStatusError is an HTTP response that carries no JSON-RPC message.
type httpStatusError struct {
	status int
	body   string // its beginning, in one line
}

func (e *httpStatusError) Error() string {
	text := fmt.Sprintf("server answered HTTP status %d", e.status)
	switch e.status {
	case 401, 403:
		text += " (check the credentials in its headers)"
	case 404, 405:
		text += " (check its url and its transport: http and sse are different endpoints)"
	}
	if e.body != "" {
		text += ": " + e.body
	}
	return text
}
