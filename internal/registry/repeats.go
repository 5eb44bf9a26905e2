package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
)

// Servers send structured content again as text, for clients that know only
// text: as one JSON document, or one text an item, or as the bare string. A
// comparer tells such texts from those that say something else.

// compareBudget bounds, in bytes, what is compared exactly for one result.
// Beyond it a text that begins with the bracket the structured value begins
// with counts as its repetition: comparing would cost more than the call, and
// a server that sends that much JSON twice sends the same JSON twice.
const compareBudget = 64 << 10

type comparer struct{ budget int }

// repeats reports whether the text (a literal) is value, serialised.
func (c *comparer) repeats(text, value []byte) bool {
	switch value[0] {
	case '"':
		if equalStrings(text, value) {
			return true
		}
	case 't', 'f':
		if bytes.EqualFold(inner(text), value) { // Python's True and False
			return true
		}
	}
	if first, _ := ends(text); !sameStart(first, value[0]) {
		return false
	}
	if len(text) > c.budget {
		return value[0] == '{' || value[0] == '['
	}
	c.budget -= len(text)
	return equalJSON(bytes.TrimSpace(unquote(text)), value)
}

// sameStart allows for different spellings of a number.
func sameStart(a, b byte) bool {
	number := func(c byte) bool { return c == '-' || '0' <= c && c <= '9' }
	return a == b || number(a) && number(b)
}

var errDiffers = errors.New("differs")

// repeatsItems reports whether the texts are the items of array, one by one.
func (c *comparer) repeatsItems(texts [][]byte, array []byte) bool {
	if len(texts) == 0 || array == nil {
		return false
	}
	n := 0
	_, err := eachElement(array, 0, func(at int) (int, error) {
		end, err := skipValue(array, at)
		if err != nil {
			return end, err
		}
		if n == len(texts) || !c.repeats(texts[n], array[at:end]) {
			return end, errDiffers
		}
		n++
		return end, nil
	})
	return err == nil && n == len(texts)
}

// repeatsMember reports whether the text is one of the strings that the object
// value holds, as in {"content": text}.
func (c *comparer) repeatsMember(text, value []byte) bool {
	found := errors.New("found")
	_, err := eachMember(value, 0, func(_ []byte, at int) (int, error) {
		end, err := skipValue(value, at)
		if err == nil && isString(value[at:end]) && equalStrings(text, value[at:end]) {
			return end, found
		}
		return end, err
	})
	return errors.Is(err, found)
}

// equalJSON compares two JSON documents of bounded size. The cheap walk over
// their tokens settles it for those that are written in the same order.
func equalJSON(a, b []byte) bool {
	return equalTokens(a, b) || equalDecoded(a, b)
}

// equalTokens compares token by token, whitespace and escapes aside.
func equalTokens(a, b []byte) bool {
	i, j := 0, 0
	for {
		i, j = skipSpace(a, i), skipSpace(b, j)
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		ei, erra := skipToken(a, i)
		ej, errb := skipToken(b, j)
		if erra != nil || errb != nil || !equalToken(a[i:ei], b[j:ej]) {
			return false
		}
		i, j = ei, ej
	}
}

func skipToken(b []byte, i int) (int, error) {
	switch b[i] {
	case '{', '}', '[', ']', ',', ':':
		return i + 1, nil
	}
	return skipValue(b, i)
}

func equalToken(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if isString(a) && isString(b) {
		return equalStrings(a, b)
	}
	x, errx := strconv.ParseFloat(string(a), 64) // 1.0 and 1, 1e3 and 1000.0
	y, erry := strconv.ParseFloat(string(b), 64)
	return errx == nil && erry == nil && x == y
}

func equalDecoded(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
