package channel

import (
	"encoding/binary"
	"encoding/json"
	"unicode/utf8"
)

// A frame is checked and taken apart in one pass: encoding/json would take
// several, and this is on the path of every call.

// member is one key of an object, without its quotes, and its raw value.
type member struct {
	key   []byte
	value json.RawMessage
}

// maxMembers is more than any frame has.
const maxMembers = 8

// splitObject checks that text is one JSON object (RFC 8259, valid UTF-8,
// nested at most maxDepth) with at most maxMembers keys, all different, and
// appends its members to dst. They are slices of text.
func splitObject(dst []member, text []byte) ([]member, error) {
	if !utf8.Valid(text) {
		return nil, violation("frame is not valid UTF-8")
	}
	s := scanner{text: text}
	s.space()
	if s.peek() != '{' {
		return nil, violation("frame is not a JSON object")
	}
	ok := s.object(1, func(key []byte, value json.RawMessage) error {
		var err error
		dst, err = addMember(dst, key, value)
		return err
	})
	switch {
	case s.err != nil:
		return nil, s.err
	case !ok:
		return nil, violation("frame is not valid JSON at byte %d", s.at)
	}
	if s.space(); s.at != len(text) {
		return nil, violation("frame goes on after its JSON object")
	}
	return dst, nil
}

func addMember(dst []member, key []byte, value json.RawMessage) ([]member, error) {
	name := key[1 : len(key)-1]
	if !plain(name) {
		var decoded string
		if err := json.Unmarshal(key, &decoded); err != nil {
			return nil, violation("frame has an unreadable key: %v", err)
		}
		name = []byte(decoded)
	}
	for _, m := range dst {
		if string(m.key) == string(name) {
			return nil, violation("key %.40q appears twice", name)
		}
	}
	if len(dst) == maxMembers {
		return nil, violation("frame has an unknown key %.40q", name)
	}
	return append(dst, member{name, value}), nil
}

// plain reports whether a string's inside stands for itself.
func plain(s []byte) bool {
	for _, c := range s {
		if c == '\\' {
			return false
		}
	}
	return true
}

// scanner checks JSON as it moves over it.
type scanner struct {
	text []byte
	at   int
	err  error // of the visitor, or that the nesting is too deep
}

// peek returns the next byte, or 0, which starts nothing in JSON, at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) accept(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) value(depth int) bool {
	switch s.peek() {
	case '{':
		return s.object(depth+1, nil)
	case '[':
		return s.array(depth + 1)
	case '"':
		return s.str()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

// deeper reports whether one more level may be entered.
func (s *scanner) deeper(depth int) bool {
	if depth > maxDepth {
		s.err = violation("frame is nested deeper than %d levels", maxDepth)
	}
	return s.err == nil
}

func (s *scanner) object(depth int, visit func(key []byte, value json.RawMessage) error) bool {
	if !s.deeper(depth) {
		return false
	}
	s.at++
	if s.space(); s.accept('}') {
		return true
	}
	for {
		key := s.at
		if s.peek() != '"' || !s.str() {
			return false
		}
		keyEnd := s.at
		if s.space(); !s.accept(':') {
			return false
		}
		s.space()
		start := s.at
		if !s.value(depth) {
			return false
		}
		if visit != nil {
			if s.err = visit(s.text[key:keyEnd], s.text[start:s.at:s.at]); s.err != nil {
				return false
			}
		}
		if s.space(); s.accept('}') {
			return true
		}
		if !s.accept(',') {
			return false
		}
		s.space()
	}
}

func (s *scanner) array(depth int) bool {
	if !s.deeper(depth) {
		return false
	}
	s.at++
	if s.space(); s.accept(']') {
		return true
	}
	for {
		if !s.value(depth) {
			return false
		}
		if s.space(); s.accept(']') {
			return true
		}
		if !s.accept(',') {
			return false
		}
		s.space()
	}
}

// str moves over a string, eight bytes at a time while they stand for
// themselves.
func (s *scanner) str() bool {
	for s.at++; s.at < len(s.text); {
		for len(s.text)-s.at >= 8 && !special(binary.LittleEndian.Uint64(s.text[s.at:])) {
			s.at += 8
		}
		switch c := s.peek(); {
		case c == '"':
			s.at++
			return true
		case c == '\\':
			if !s.escape() {
				return false
			}
		case c < 0x20:
			return false
		default:
			s.at++
		}
	}
	return false
}

// special reports whether one of eight bytes is a quote, a backslash or a
// control character. In each term at least the bytes that are zero, zero, and
// below 0x20 have their high bit set.
func special(w uint64) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, slash := w^('"'*ones), w^('\\'*ones)
	return ((quote-ones)&^quote|(slash-ones)&^slash|(w-0x20*ones)&^w)&highs != 0
}

func (s *scanner) escape() bool {
	s.at++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
		return true
	case 'u':
		if len(s.text)-s.at < 5 {
			return false
		}
		for _, c := range s.text[s.at+1 : s.at+5] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return false
			}
		}
		s.at += 5
		return true
	}
	return false
}

func (s *scanner) word(w string) bool {
	if len(s.text)-s.at < len(w) || string(s.text[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
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
		s.at++
		if !s.accept('+') {
			s.accept('-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.at
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > start
}
