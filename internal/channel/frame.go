// Package channel is the host end of the byte stream between ptc-mcp and the
// Python runner in a sandbox: frames, their strict decoding, and the order in
// which they may come. docs/channel.md is its specification.
//
// Everything read here is hostile input. The package knows no tool, no sandbox
// and no server, and imports nothing internal.
package channel

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Protocol is the version of the channel that this package speaks.
const Protocol = 1

// Bounds that do not depend on configuration (docs/channel.md, "Limits").
const (
	maxDepth     = 200
	maxToolBytes = 512
	maxID        = 1 << 53
	headerBytes  = 4
)

// ErrViolation is wrapped by every error that means "what the sandbox sent
// breaks the protocol".
var ErrViolation = errors.New("channel protocol violation")

func violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrViolation, fmt.Sprintf(format, args...))
}

// readFrame reads one frame of at most limit bytes. io.EOF means that the
// stream ended between two frames.
func readFrame(r *bufio.Reader, limit int) ([]byte, error) {
	header, err := r.Peek(headerBytes)
	if err != nil {
		if errors.Is(err, io.EOF) && len(header) > 0 {
			return nil, violation("the stream ended inside a frame's length")
		}
		return nil, err
	}
	n := binary.BigEndian.Uint32(header)
	if n < 2 || uint64(n) > uint64(limit) {
		return nil, violation("frame of %d bytes; it must have 2 to %d", n, limit)
	}
	_, _ = r.Discard(headerBytes) // they are in the buffer
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, violation("the stream ended inside a frame of %d bytes", n)
		}
		return nil, err
	}
	return body, nil
}

// fields is a decoded frame: its type and its other keys with their raw values.
type fields struct {
	kind    string
	members []member
}

// decode checks a frame's body as a whole and splits it into its keys, for
// which it uses the memory of scratch.
func decode(body []byte, scratch []member) (fields, error) {
	members, err := splitObject(scratch[:0], body)
	if err != nil {
		return fields{}, err
	}
	at := slices.IndexFunc(members, func(m member) bool { return string(m.key) == "type" })
	if at < 0 {
		return fields{}, violation("frame has no type")
	}
	kind, err := stringValue(members[at].value)
	if err != nil {
		return fields{}, violation("frame has a type that is no string")
	}
	return fields{kind, slices.Delete(members, at, at+1)}, nil
}

// take returns the raw values of the named keys and insists that the frame
// holds exactly those.
func (f fields) take(keys ...string) ([3]json.RawMessage, error) {
	var values [3]json.RawMessage
	for _, m := range f.members {
		i := slices.IndexFunc(keys, func(key string) bool { return key == string(m.key) })
		if i < 0 {
			return values, violation("%s frame has an unknown key %.40q", f.kind, m.key)
		}
		values[i] = m.value
	}
	for i, key := range keys {
		if values[i] == nil {
			return values, violation("%s frame lacks the key %q", f.kind, key)
		}
	}
	return values, nil
}

// stringValue decodes a string.
func stringValue(raw json.RawMessage) (string, error) {
	if n := len(raw) - 1; n > 0 && raw[0] == '"' && plain(raw[1:n]) {
		return string(raw[1:n]), nil
	}
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", fmt.Errorf("%.40q is no string", raw)
	}
	return *s, nil
}

// idValue decodes the id of a call.
func idValue(raw json.RawMessage) (int64, error) {
	id := int64(0)
	for _, c := range raw {
		if c < '0' || c > '9' || id > maxID {
			return 0, fmt.Errorf("%.40q is no id", raw)
		}
		id = id*10 + int64(c-'0')
	}
	return id, nil
}

// joinBelow is the size under which frames are copied together: one write for
// all that wait costs less than one each. Above it a value is written from where
// it lies.
const joinBelow = 64 << 10

// maxSpare is how much memory is kept for the next frames.
const maxSpare = 256 << 10

// appendHeader appends the length of a frame of n bytes.
func appendHeader(b []byte, n int) ([]byte, error) {
	if uint64(n) > uint64(^uint32(0)) {
		return nil, fmt.Errorf("channel: frame of %d bytes does not fit a 32-bit length", n)
	}
	return binary.BigEndian.AppendUint32(b, uint32(n)), nil
}
