// Package channel is the host end of the byte stream between ptc-mcp and the
// Python runner in a sandbox: frames, their strict decoding, and the order in
// which they may come. docs/channel.md is its specification.
//
// Everything read here is hostile input. The package knows no tool, no sandbox
// and no server, and imports nothing internal.
package channel

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
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
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, violation("the stream ended inside a frame's length")
		}
		return nil, err
	}
	n := binary.BigEndian.Uint32(header[:])
	if n < 2 || uint64(n) > uint64(limit) {
		return nil, violation("frame of %d bytes; it must have 2 to %d", n, limit)
	}
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
	kind   string
	values map[string]json.RawMessage
}

// decode checks a frame's body as a whole and splits it into its keys.
func decode(body []byte) (fields, error) {
	if !utf8.Valid(body) {
		return fields{}, violation("frame is not valid UTF-8")
	}
	if err := checkDepth(body); err != nil {
		return fields{}, err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return fields{}, violation("frame is not a JSON object")
	}
	f := fields{values: make(map[string]json.RawMessage, 4)}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return fields{}, violation("frame is not valid JSON: %v", err)
		}
		key, ok := tok.(string)
		if !ok {
			return fields{}, violation("frame is not valid JSON")
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return fields{}, violation("frame is not valid JSON: %v", err)
		}
		if _, twice := f.values[key]; twice {
			return fields{}, violation("key %.40q appears twice", key)
		}
		f.values[key] = value
	}
	if _, err := dec.Token(); err != nil {
		return fields{}, violation("frame is not valid JSON: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fields{}, violation("frame holds more than one JSON value")
	}
	if err := json.Unmarshal(f.values["type"], &f.kind); err != nil {
		return fields{}, violation("frame has no type")
	}
	delete(f.values, "type")
	return f, nil
}

// checkDepth bounds the nesting before any recursive decoder sees the frame.
func checkDepth(body []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString:
			switch c {
			case '\\':
				i++
			case '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return violation("frame is nested deeper than %d levels", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// take unmarshals each named key into its target and insists that the frame
// holds exactly those.
func (f fields) take(targets map[string]any) error {
	for key := range f.values {
		if _, known := targets[key]; !known {
			return violation("%s frame has an unknown key %.40q", f.kind, key)
		}
	}
	for key, target := range targets {
		raw, there := f.values[key]
		if !there {
			return violation("%s frame lacks the key %q", f.kind, key)
		}
		if err := json.Unmarshal(raw, target); err != nil {
			return violation("%s frame: %s: %v", f.kind, key, err)
		}
	}
	return nil
}

// writeFrame sends head, value and tail as one frame. A small frame is one
// write; a large value is written from where it lies.
func writeFrame(w io.Writer, head, value, tail []byte) error {
	n := len(head) + len(value) + len(tail)
	if uint64(n) > uint64(^uint32(0)) {
		return fmt.Errorf("channel: frame of %d bytes does not fit a 32-bit length", n)
	}
	const copyBelow = 64 << 10
	size := headerBytes + len(head)
	if n < copyBelow {
		size = headerBytes + n
	}
	buf := make([]byte, headerBytes, size)
	binary.BigEndian.PutUint32(buf, uint32(n))
	buf = append(buf, head...)
	if n < copyBelow {
		buf = append(append(buf, value...), tail...)
		_, err := w.Write(buf)
		return err
	}
	for _, part := range [][]byte{buf, value, tail} {
		if len(part) == 0 {
			continue
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
