// Package channel is the host end of the byte stream between ptc-mcp and the
// Python runner in a sandbox: frames, their strict decoding, and the order in
// which they may come. docs/channel.md is its specification.
//
// Everything read here is hostile input. The package knows no tool, no sandbox
// and no server, and imports nothing internal.
package channel

import (
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
	if !json.Valid(body) {
		return fields{}, violation("frame is not one valid JSON value")
	}
	f := fields{values: make(map[string]json.RawMessage, 4)}
	if err := splitObject(body, func(key string, value json.RawMessage) error {
		if _, twice := f.values[key]; twice {
			return violation("key %.40q appears twice", key)
		}
		f.values[key] = value
		return nil
	}); err != nil {
		return fields{}, err
	}
	if err := json.Unmarshal(f.values["type"], &f.kind); err != nil {
		return fields{}, violation("frame has no type")
	}
	delete(f.values, "type")
	return f, nil
}

// checkDepth bounds the nesting before any recursive decoder sees the frame. It
// runs before the frame is known to be valid.
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

// splitObject hands each key of an object and its raw value to add. The text
// must be valid JSON; that it is an object is checked.
func splitObject(text []byte, add func(key string, value json.RawMessage) error) error {
	i := skipSpace(text, 0)
	if text[i] != '{' {
		return violation("frame is not a JSON object")
	}
	for i = skipSpace(text, i+1); text[i] != '}'; {
		end := stringEnd(text, i)
		var key string
		if err := json.Unmarshal(text[i:end], &key); err != nil {
			return violation("frame has an unreadable key: %v", err)
		}
		start := skipSpace(text, skipSpace(text, end)+1) // past the colon
		end = valueEnd(text, start)
		if err := add(key, text[start:end:end]); err != nil {
			return err
		}
		if i = skipSpace(text, end); text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return nil
}

func skipSpace(text []byte, i int) int {
	for text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r' {
		i++
	}
	return i
}

// stringEnd is the index after the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd is the index after the value that begins at i.
func valueEnd(text []byte, i int) int {
	for depth := 0; ; {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 { // of the object around a number or literal
				return i
			}
			depth--
			i++
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
			i++
			continue
		default: // of a number or literal, or a colon inside the value
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
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

// joinBelow is the size under which frames are copied together: one write for
// all that wait costs less than one each. Above it a value is written from where
// it lies.
const joinBelow = 64 << 10

// appendHeader appends the length of a frame of n bytes.
func appendHeader(b []byte, n int) ([]byte, error) {
	if uint64(n) > uint64(^uint32(0)) {
		return nil, fmt.Errorf("channel: frame of %d bytes does not fit a 32-bit length", n)
	}
	return binary.BigEndian.AppendUint32(b, uint32(n)), nil
}
