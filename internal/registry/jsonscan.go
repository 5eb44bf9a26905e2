package registry

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// The scanner finds where JSON values begin and end without decoding them, so
// that parts of a result can be passed on as slices of what arrived. It trusts
// that its input is valid JSON (the transport has parsed it) as far as meaning
// goes, but on any input it stays in bounds and ends.

// maxDepth bounds the nesting of a value: the channel's limit, and well below
// what a JSON parser of the sandbox can recurse into.
const maxDepth = 200

var (
	errMalformed = errors.New("malformed JSON")
	errTooDeep   = errors.New("nested too deeply")
)

// skipSpace returns the index of the first byte at or after i that is not JSON
// whitespace.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// longString is how many bytes without a quote or backslash make a string a long
// one.
const longString = 256

// skipString returns the index after the string literal at b[i], which must be
// a quote. It looks at eight bytes at a time, and in long strings for the quote
// and the backslash by themselves: results are mostly long strings.
func skipString(b []byte, i int) (int, error) {
	i++
	quote := i // none from i to here
	for {
		for start := i; i+8 <= len(b); i += 8 {
			if n := plainBytes(binary.LittleEndian.Uint64(b[i:])); n < 8 {
				i += n
				break
			}
			if i-start >= longString {
				if quote <= i {
					if quote = i + bytes.IndexByte(b[i:], '"'); quote < i {
						return len(b), errMalformed
					}
				}
				if n := bytes.IndexByte(b[i:quote], '\\'); n >= 0 {
					i += n
				} else {
					i = quote
				}
				break
			}
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' {
			i++
		}
		if i >= len(b) {
			return len(b), errMalformed
		}
		if b[i] == '"' {
			return i + 1, nil
		}
		i += 2 // a backslash and what it escapes
	}
}

// plainBytes counts the bytes of w, lowest first, before the first quote or
// backslash; 8 when there is none.
func plainBytes(w uint64) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	q := w ^ ones*'"'
	s := w ^ ones*'\\'
	// A zero byte sets its high bit; false positives arise only above it.
	hit := ((q - ones) &^ q & highs) | ((s - ones) &^ s & highs)
	return bits.TrailingZeros64(hit) / 8
}

// skipValue returns the index after the value at b[i].
func skipValue(b []byte, i int) (int, error) {
	if i >= len(b) {
		return i, errMalformed
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipContainer(b, i)
	}
	start := i
	for i < len(b) && !endsScalar(b[i]) {
		i++
	}
	if i == start {
		return i, errMalformed
	}
	return i, nil
}

func endsScalar(c byte) bool {
	switch c {
	case ',', ']', '}', ':', '"', ' ', '\n', '\r', '\t':
		return true
	}
	return false
}

// skipContainer returns the index after the array or object at b[i]. Braces
// and brackets are counted alike: in valid JSON they are paired.
func skipContainer(b []byte, i int) (int, error) {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			end, err := skipString(b, i)
			if err != nil {
				return end, err
			}
			i = end
			continue
		case '{', '[':
			if depth++; depth > maxDepth {
				return i, errTooDeep
			}
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
		i++
	}
	return len(b), errMalformed
}

// eachMember walks the object at b[i]. visit is given the key, unescaped, and
// the index of the value, and returns the index after it (usually by way of
// skipValue), so that nested walks need no second pass.
func eachMember(b []byte, i int, visit func(key []byte, at int) (int, error)) (int, error) {
	return eachItem(b, i, '{', '}', func(i int) (int, error) {
		if b[i] != '"' {
			return i, errMalformed
		}
		end, err := skipString(b, i)
		if err != nil {
			return end, err
		}
		key := inner(b[i:end])
		if bytes.IndexByte(key, '\\') >= 0 {
			key = unquote(b[i:end])
		}
		i = skipSpace(b, end)
		if i >= len(b) || b[i] != ':' {
			return i, errMalformed
		}
		return visit(key, skipSpace(b, i+1))
	})
}

// eachElement walks the array at b[i]; visit is as for eachMember.
func eachElement(b []byte, i int, visit func(at int) (int, error)) (int, error) {
	return eachItem(b, i, '[', ']', visit)
}

func eachItem(b []byte, i int, opening, closing byte, visit func(at int) (int, error)) (int, error) {
	if i >= len(b) || b[i] != opening {
		return i, errMalformed
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == closing {
		return i + 1, nil
	}
	for i < len(b) {
		end, err := visit(i)
		if err != nil {
			return end, err
		}
		i = skipSpace(b, end)
		if i >= len(b) {
			break
		}
		switch b[i] {
		case closing:
			return i + 1, nil
		case ',':
			i = skipSpace(b, i+1)
		default:
			return i, errMalformed
		}
	}
	return len(b), errMalformed
}

// inner is a string literal without its quotes.
func inner(literal []byte) []byte { return literal[1 : len(literal)-1] }

// isString reports whether the value is a string literal.
func isString(value []byte) bool { return len(value) >= 2 && value[0] == '"' }

// unquote decodes a string literal to valid UTF-8; half a surrogate pair
// becomes U+FFFD, and what JSON does not allow a question mark.
func unquote(literal []byte) []byte {
	s := inner(literal)
	dst := make([]byte, len(s)) // no escape is shorter than what it stands for
	i, j := 0, 0
	for i < len(s) {
		if i+8 <= len(s) {
			// Eight bytes are copied at once; those after the first escape are
			// overwritten.
			w := binary.LittleEndian.Uint64(s[i:])
			binary.LittleEndian.PutUint64(dst[j:], w)
			n := plainBytes(w)
			i, j = i+n, j+n
			if n == 8 {
				continue
			}
		}
		if s[i] != '\\' {
			dst[j] = s[i]
			i, j = i+1, j+1
			continue
		}
		r, size := unescape(s[i:])
		i += size
		if r < utf8.RuneSelf {
			dst[j] = byte(r)
			j++
		} else {
			j += utf8.EncodeRune(dst[j:], r)
		}
	}
	return dst[:j]
}

// unescape decodes the escape sequence at the start of s, which must be a
// backslash, and returns its length.
func unescape(s []byte) (rune, int) {
	if len(s) < 2 {
		return '?', len(s)
	}
	switch c := s[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, ok := hex4(s[2:])
		if !ok {
			return '?', 2
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			if low, ok := hex4(s[8:]); ok {
				if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
					return full, 12
				}
			}
		}
		return utf8.RuneError, 6
	}
	return '?', 2
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// unquotedLen is the length of the decoded literal, found without decoding it.
func unquotedLen(literal []byte) int {
	s := inner(literal)
	total := 0
	for len(s) > 0 {
		n := bytes.IndexByte(s, '\\')
		if n < 0 {
			return total + len(s)
		}
		r, size := unescape(s[n:])
		total += n + utf8.RuneLen(r)
		s = s[n+size:]
	}
	return total
}

// equalStrings compares what two string literals stand for, whichever way each
// escapes it, without decoding them as a whole.
func equalStrings(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	a, b = inner(a), inner(b)
	for len(a) > 0 && len(b) > 0 {
		if a[0] == b[0] && a[0] != '\\' {
			a, b = a[1:], b[1:]
			continue
		}
		if a[0] != '\\' && b[0] != '\\' {
			return false
		}
		ra, na := firstRune(a)
		rb, nb := firstRune(b)
		if ra != rb {
			return false
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) == 0 && len(b) == 0
}

func firstRune(s []byte) (rune, int) {
	if s[0] == '\\' {
		return unescape(s)
	}
	return utf8.DecodeRune(s)
}

// appendQuoted appends s as a JSON string literal of valid UTF-8.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
