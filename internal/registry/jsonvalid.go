package registry

import (
	"encoding/binary"
	"math/bits"
)

// maxNumberDigits bounds a number in text that is taken for JSON: Python's
// int() refuses more than 4300 digits, and such text means no number anyway.
const maxNumberDigits = 4000

// validJSON reports whether b is exactly one JSON value that a program can be
// given: RFC 8259, nested at most maxDepth, numbers of bounded length. It is
// several times faster than encoding/json on the long strings of results.
func validJSON(b []byte) bool {
	i, ok := validValue(b, skipSpace(b, 0), 0)
	return ok && skipSpace(b, i) == len(b)
}

func validValue(b []byte, i, depth int) (int, bool) {
	if i >= len(b) {
		return i, false
	}
	switch c := b[i]; {
	case c == '"':
		return validString(b, i)
	case c == '{':
		return validObject(b, i, depth+1)
	case c == '[':
		return validArray(b, i, depth+1)
	case c == '-' || '0' <= c && c <= '9':
		return validNumber(b, i)
	case c == 't':
		return validWord(b, i, "true")
	case c == 'f':
		return validWord(b, i, "false")
	case c == 'n':
		return validWord(b, i, "null")
	}
	return i, false
}

func validWord(b []byte, i int, word string) (int, bool) {
	end := i + len(word)
	return end, end <= len(b) && string(b[i:end]) == word
}

func validObject(b []byte, i, depth int) (int, bool) {
	if depth > maxDepth {
		return i, false
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, true
	}
	for i < len(b) && b[i] == '"' {
		var ok bool
		if i, ok = validString(b, i); !ok {
			return i, false
		}
		i = skipSpace(b, i)
		if i >= len(b) || b[i] != ':' {
			return i, false
		}
		if i, ok = validValue(b, skipSpace(b, i+1), depth); !ok {
			return i, false
		}
		i = skipSpace(b, i)
		if i < len(b) && b[i] == '}' {
			return i + 1, true
		}
		if i >= len(b) || b[i] != ',' {
			return i, false
		}
		i = skipSpace(b, i+1)
	}
	return i, false
}

func validArray(b []byte, i, depth int) (int, bool) {
	if depth > maxDepth {
		return i, false
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, true
	}
	for i < len(b) {
		var ok bool
		if i, ok = validValue(b, i, depth); !ok {
			return i, false
		}
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ']' {
			return i + 1, true
		}
		if i >= len(b) || b[i] != ',' {
			return i, false
		}
		i = skipSpace(b, i+1)
	}
	return i, false
}

func validNumber(b []byte, i int) (int, bool) {
	start := i
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case i < len(b) && '1' <= b[i] && b[i] <= '9':
		i = skipDigits(b, i)
	default:
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		end := skipDigits(b, i+1)
		if end == i+1 {
			return i, false
		}
		i = end
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		end := skipDigits(b, i)
		if end == i {
			return i, false
		}
		i = end
	}
	return i, i-start <= maxNumberDigits
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

func validString(b []byte, i int) (int, bool) {
	i++
	for i < len(b) {
		if i+8 <= len(b) {
			n := plainText(binary.LittleEndian.Uint64(b[i:]))
			if i += n; n == 8 {
				continue
			}
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c == '\\':
			size, ok := validEscape(b[i:])
			if !ok {
				return i, false
			}
			i += size
		case c < 0x20:
			return i, false
		default:
			i++
		}
	}
	return i, false
}

// plainText is plainBytes for text that must not hold control characters.
func plainText(w uint64) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	q := w ^ ones*'"'
	s := w ^ ones*'\\'
	hit := ((q-ones)&^q | (s-ones)&^s | (w-0x20*ones)&^w) & highs
	return bits.TrailingZeros64(hit) / 8
}

// validEscape returns the length of the escape sequence at the start of s.
func validEscape(s []byte) (int, bool) {
	if len(s) < 2 {
		return 0, false
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, true
	case 'u':
		_, ok := hex4(s[2:])
		return 6, ok
	}
	return 0, false
}
