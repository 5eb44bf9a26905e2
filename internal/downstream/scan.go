package downstream

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// Results pass through undecoded, so all that is wanted of a message is its
// outline: the raw members of one object, in one pass that also checks the
// syntax of everything inside.

var errSyntax = errors.New("malformed JSON")

// maxDepth is encoding/json's limit too.
const maxDepth = 10000

// scanObject checks that data is one JSON object and calls visit with each of
// its members' decoded key and raw value.
func scanObject(data []byte, visit func(key string, value json.RawMessage)) error {
	s := scanner{data: data}
	s.space()
	if s.peek() != '{' || !s.object(1, visit) {
		return s.fail()
	}
	return s.end()
}

// scanArray checks that data is one JSON array and calls visit with each raw
// element.
func scanArray(data []byte, visit func(value json.RawMessage)) error {
	s := scanner{data: data}
	s.space()
	if s.peek() != '[' || !s.array(1, visit) {
		return s.fail()
	}
	return s.end()
}

type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) fail() error { return fmt.Errorf("%w at byte %d", errSyntax, s.pos) }

func (s *scanner) end() error {
	s.space()
	if s.pos != len(s.data) {
		return s.fail()
	}
	return nil
}

// peek returns the next byte, or 0 at the end; 0 starts nothing in JSON.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) accept(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) value(depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch c := s.peek(); c {
	case '{':
		return s.object(depth+1, nil)
	case '[':
		return s.array(depth+1, nil)
	case '"':
		return s.str()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

func (s *scanner) object(depth int, visit func(string, json.RawMessage)) bool {
	s.pos++
	s.space()
	if s.accept('}') {
		return true
	}
	for {
		keyStart := s.pos
		if s.peek() != '"' || !s.str() {
			return false
		}
		keyEnd := s.pos
		s.space()
		if !s.accept(':') {
			return false
		}
		s.space()
		start := s.pos
		if !s.value(depth) {
			return false
		}
		if visit != nil {
			var key string
			if json.Unmarshal(s.data[keyStart:keyEnd], &key) != nil {
				return false
			}
			visit(key, s.data[start:s.pos:s.pos])
		}
		s.space()
		if s.accept('}') {
			return true
		}
		if !s.accept(',') {
			return false
		}
		s.space()
	}
}

func (s *scanner) array(depth int, visit func(json.RawMessage)) bool {
	s.pos++
	s.space()
	if s.accept(']') {
		return true
	}
	for {
		start := s.pos
		if !s.value(depth) {
			return false
		}
		if visit != nil {
			visit(s.data[start:s.pos:s.pos])
		}
		s.space()
		if s.accept(']') {
			return true
		}
		if !s.accept(',') {
			return false
		}
		s.space()
	}
}

func (s *scanner) str() bool {
	for s.pos++; s.pos < len(s.data); {
		s.skipPlain()
		switch c := s.peek(); {
		case c == '"':
			s.pos++
			return true
		case c == '\\':
			if !s.escape() {
				return false
			}
		case c < 0x20:
			return false
		default:
			s.pos++
		}
	}
	return false
}

// skipPlain skips eight bytes at a time while none of them ends the string,
// starts an escape or is a control character. Long strings are most of what a
// large result is made of.
func (s *scanner) skipPlain() {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for len(s.data)-s.pos >= 8 {
		w := binary.LittleEndian.Uint64(s.data[s.pos:])
		quote, slash := w^('"'*ones), w^('\\'*ones)
		// Each term has a high bit set in (at least) the bytes that are zero,
		// zero, and below 0x20.
		if ((quote-ones)&^quote|(slash-ones)&^slash|(w-0x20*ones)&^w)&highs != 0 {
			return
		}
		s.pos += 8
	}
}

func (s *scanner) escape() bool {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return true
	case 'u':
		if len(s.data)-s.pos < 5 {
			return false
		}
		for _, c := range s.data[s.pos+1 : s.pos+5] {
			if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
				return false
			}
		}
		s.pos += 5
		return true
	}
	return false
}

func (s *scanner) literal(word string) bool {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return false
	}
	s.pos += len(word)
	return true
}

func (s *scanner) number() bool {
	s.accept('-')
	if !s.accept('0') && !s.digits() {
		return false
	}
	if s.accept('.') && !s.digits() {
		return false
	}
	if s.peek()|0x20 == 'e' {
		s.pos++
		if !s.accept('+') {
			s.accept('-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.pos
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > start
}
