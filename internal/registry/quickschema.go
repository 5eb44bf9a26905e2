package registry

import (
	"bytes"
	"slices"
)

// quickSchema checks raw JSON against the keywords that most output schemas
// consist of, without decoding it: type, properties, required, items, anyOf and
// additionalProperties. It only ever says yes; when it does not, the JSON
// Schema library decides and finds the words. So the check of a result of many
// megabytes costs little more than finding where its values end.
type quickSchema struct {
	types      typeSet
	properties map[string]*quickSchema
	required   []string
	additional *quickSchema // nil: anything
	closed     bool         // additionalProperties: false
	items      *quickSchema // nil: anything
	anyOf      []*quickSchema
}

// typeSet is a set of the first letters of JSON types, which differ but for
// number and null; null is stored as z. The empty set means any type.
type typeSet uint32

func (s *typeSet) add(name string) bool {
	letters := map[string]byte{"object": 'o', "array": 'a', "string": 's', "boolean": 'b', "number": 'n', "integer": 'i', "null": 'z'}
	letter, ok := letters[name]
	*s |= 1 << (letter & 31)
	return ok
}

func (s typeSet) has(letter byte) bool { return s&(1<<(letter&31)) != 0 }

// newQuickSchema returns nil when the schema has a keyword that a quickSchema
// does not know or whose meaning depends on the draft.
func newQuickSchema(raw []byte) *quickSchema {
	i := skipSpace(raw, 0)
	q, end := parseQuick(raw, i)
	if end < 0 {
		return nil
	}
	return q
}

// unsupported is the end of a schema that is not quick.
const unsupported = -1

// parseQuick parses the schema at raw[i] and returns the index after it, or
// unsupported.
func parseQuick(raw []byte, i int) (*quickSchema, int) {
	q := &quickSchema{}
	if i < len(raw) && raw[i] == 't' { // the schema true
		end, err := skipValue(raw, i)
		if err != nil {
			return nil, unsupported
		}
		return q, end
	}
	end, err := eachMember(raw, i, func(key []byte, at int) (int, error) {
		end, err := skipValue(raw, at)
		if err != nil {
			return end, err
		}
		if !q.keyword(string(key), raw[at:end]) {
			return end, errMalformed
		}
		return end, nil
	})
	if err != nil {
		return nil, unsupported
	}
	return q, end
}

// keyword takes in one keyword and reports whether it is a known one.
func (q *quickSchema) keyword(name string, value []byte) bool {
	switch name {
	case "$schema", "title", "description", "default", "examples", "$comment", "deprecated", "x-fastmcp-wrap-result":
		return true
	case "type":
		names := stringElements(value)
		if isString(value) {
			names = []string{string(unquote(value))}
		}
		q.types = 0 // of equal keys the last counts
		return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !q.types.add(name) })
	case "required":
		q.required = stringElements(value)
		return len(value) > 0 && value[0] == '['
	case "additionalProperties":
		if string(value) == "false" {
			q.closed = true
			return true
		}
		var end int
		q.additional, end = parseQuick(value, 0)
		return end >= 0
	case "items":
		var end int
		q.items, end = parseQuick(value, 0)
		return end >= 0
	case "anyOf":
		q.anyOf = nil
		_, err := eachElement(value, 0, func(at int) (int, error) {
			sub, end := parseQuick(value, at)
			if end < 0 {
				return at, errMalformed
			}
			q.anyOf = append(q.anyOf, sub)
			return end, nil
		})
		return err == nil && len(q.anyOf) > 0
	case "properties":
		q.properties = map[string]*quickSchema{}
		_, err := eachMember(value, 0, func(key []byte, at int) (int, error) {
			sub, end := parseQuick(value, at)
			if end < 0 {
				return at, errMalformed
			}
			q.properties[string(key)] = sub
			return end, nil
		})
		return err == nil
	}
	return false
}

// accepts reports whether the value certainly matches.
func (q *quickSchema) accepts(value []byte) bool {
	_, err := q.walk(value, 0)
	return err == nil
}

// walk returns the index after the value at b[i], or an error when it is not
// certain that it matches.
func (q *quickSchema) walk(b []byte, i int) (int, error) {
	if i >= len(b) || !q.allowsType(b, i) {
		return i, errDiffers
	}
	if len(q.anyOf) > 0 && !q.walkAny(b, i) {
		return i, errDiffers
	}
	switch b[i] {
	case '{':
		if len(q.required) > 0 || len(q.properties) > 0 || q.closed || q.additional != nil {
			return q.walkObject(b, i)
		}
	case '[':
		if q.items != nil {
			return q.walkItems(b, i)
		}
	}
	return skipValue(b, i)
}

func (q *quickSchema) walkAny(b []byte, i int) bool {
	return slices.ContainsFunc(q.anyOf, func(sub *quickSchema) bool {
		_, err := sub.walk(b, i)
		return err == nil
	})
}

func (q *quickSchema) walkItems(b []byte, i int) (int, error) {
	return eachElement(b, i, func(at int) (int, error) { return q.items.walk(b, at) })
}

func (q *quickSchema) walkObject(b []byte, i int) (int, error) {
	found := make([]bool, len(q.required))
	end, err := eachMember(b, i, func(key []byte, at int) (int, error) {
		if n := slices.Index(q.required, string(key)); n >= 0 {
			found[n] = true
		}
		sub := q.additional
		if known, ok := q.properties[string(key)]; ok {
			sub = known
		} else if q.closed {
			return at, errDiffers
		}
		if sub == nil {
			return skipValue(b, at)
		}
		return sub.walk(b, at)
	})
	if err == nil && slices.Contains(found, false) {
		return end, errDiffers
	}
	return end, err
}

func (q *quickSchema) allowsType(b []byte, i int) bool {
	if q.types == 0 {
		return true
	}
	switch b[i] {
	case '{':
		return q.types.has('o')
	case '[':
		return q.types.has('a')
	case '"':
		return q.types.has('s')
	case 't', 'f':
		return q.types.has('b')
	case 'n':
		return q.types.has('z')
	}
	if q.types.has('n') {
		return true
	}
	end, err := skipValue(b, i)
	return err == nil && q.types.has('i') && !bytes.ContainsAny(b[i:end], ".eE")
}
