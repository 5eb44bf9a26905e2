package registry

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Bounds on one shape, however many values it is made from.
const (
	maxShapeDepth = 8
	maxShapeKeys  = 40 // of one object: more are a map's
	maxShapeItems = 25 // of one array that are looked at
)

// shape is what values have in common: their types, and the keys of objects.
// It holds no value. The zero shape is that of no value.
type shape struct {
	null, boolean, integer, number, text bool
	array, object                        bool

	items   *shape            // of all elements
	keys    map[string]*shape // of objects, by key
	counts  map[string]int    // objects that have the key
	objects int
	// values is the shape of all members of objects that are maps: whose keys
	// are data, not names. Then keys is nil.
	values *shape
}

// add widens the shape so that the value has it. Values are as encoding/json
// decodes them, numbers as json.Number.
func (s *shape) add(value any, depth int) {
	switch v := value.(type) {
	case nil:
		s.null = true
	case bool:
		s.boolean = true
	case string:
		s.text = true
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			s.number = true
		} else {
			s.integer = true
		}
	case []any:
		s.array = true
		s.addItems(v, depth)
	case map[string]any:
		s.object = true
		s.addObject(v, depth)
	}
}

func (s *shape) addItems(items []any, depth int) {
	if depth >= maxShapeDepth {
		return
	}
	for _, item := range items[:min(len(items), maxShapeItems)] {
		if s.items == nil {
			s.items = &shape{}
		}
		s.items.add(item, depth+1)
	}
}

func (s *shape) addObject(object map[string]any, depth int) {
	if depth >= maxShapeDepth {
		return
	}
	s.objects++
	if s.values == nil && isMap(object) {
		s.makeMap()
	}
	names := slices.Sorted(maps.Keys(object))
	if s.values == nil {
		if s.keys == nil {
			s.keys, s.counts = map[string]*shape{}, map[string]int{}
		}
		for _, name := range names {
			if s.keys[name] == nil {
				s.keys[name] = &shape{}
			}
			s.keys[name].add(object[name], depth+1)
			s.counts[name]++
		}
		if len(s.keys) > maxShapeKeys {
			s.makeMap()
		}
		return
	}
	for _, name := range names[:min(len(names), maxShapeItems)] {
		s.values.add(object[name], depth+1)
	}
}

// namePattern is what the name of a field looks like. A key that does not is
// data: an address, a date, a path.
var namePattern = regexp.MustCompile(`^[A-Za-z_$@][A-Za-z_$-]*[A-Za-z0-9_$-]{0,3}$`)

// isMap guesses that an object's keys are data: one of them looks like no
// name, or there are some and their values are all objects of the same keys.
func isMap(object map[string]any) bool {
	var common []string
	alike := len(object) >= 3
	for name, value := range object {
		if len(name) > 48 || !namePattern.MatchString(name) {
			return true
		}
		inner, ok := value.(map[string]any)
		if !ok {
			alike = false
			continue
		}
		names := slices.Sorted(maps.Keys(inner))
		if common == nil {
			common = names
		}
		alike = alike && len(names) > 0 && slices.Equal(common, names)
	}
	return alike
}

// makeMap forgets the keys and keeps the shape of what they held.
func (s *shape) makeMap() {
	s.values = &shape{}
	for _, member := range s.keys {
		s.values.merge(member)
	}
	s.keys, s.counts = nil, nil
}

// merge widens the shape by another one.
func (s *shape) merge(other *shape) {
	s.null = s.null || other.null
	s.boolean = s.boolean || other.boolean
	s.integer = s.integer || other.integer
	s.number = s.number || other.number
	s.text = s.text || other.text
	s.array = s.array || other.array
	s.object = s.object || other.object
	s.objects += other.objects
	if other.items != nil {
		if s.items == nil {
			s.items = &shape{}
		}
		s.items.merge(other.items)
	}
	if other.values != nil && s.values == nil {
		s.makeMap()
	}
	switch {
	case s.values != nil:
		if other.values != nil {
			s.values.merge(other.values)
		}
		for _, member := range other.keys {
			s.values.merge(member)
		}
	case len(other.keys) > 0:
		if s.keys == nil {
			s.keys, s.counts = map[string]*shape{}, map[string]int{}
		}
		for name, member := range other.keys {
			if s.keys[name] == nil {
				s.keys[name] = &shape{}
			}
			s.keys[name].merge(member)
			s.counts[name] += other.counts[name]
		}
		if len(s.keys) > maxShapeKeys {
			s.makeMap()
		}
	}
}

// appendSchema appends the shape as a JSON Schema, keys sorted.
func (s *shape) appendSchema(dst []byte) []byte {
	var options [][]byte
	for _, scalar := range []struct {
		seen bool
		name string
	}{{s.boolean, "boolean"}, {s.integer && !s.number, "integer"}, {s.number, "number"}, {s.text, "string"}} {
		if scalar.seen {
			options = append(options, []byte(`{"type":"`+scalar.name+`"}`))
		}
	}
	if s.array {
		option := []byte(`{"type":"array"`)
		if s.items != nil {
			option = s.items.appendSchema(append(option, `,"items":`...))
		}
		options = append(options, append(option, '}'))
	}
	if s.object {
		options = append(options, s.appendObject(nil))
	}
	if s.null {
		options = append(options, []byte(`{"type":"null"}`))
	}
	switch len(options) {
	case 0:
		return append(dst, "{}"...)
	case 1:
		return append(dst, options[0]...)
	}
	dst = append(dst, `{"anyOf":[`...)
	for i, option := range options {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, option...)
	}
	return append(dst, "]}"...)
}

func (s *shape) appendObject(dst []byte) []byte {
	dst = append(dst, `{"type":"object"`...)
	if s.values != nil {
		return append(s.values.appendSchema(append(dst, `,"additionalProperties":`...)), '}')
	}
	var required []string
	separator := `,"properties":{`
	for _, name := range slices.Sorted(maps.Keys(s.keys)) {
		dst = appendQuoted(append(dst, separator...), name)
		dst = s.keys[name].appendSchema(append(dst, ':'))
		if s.counts[name] == s.objects {
			required = append(required, name)
		}
		separator = ","
	}
	if separator == "," {
		dst = append(dst, '}')
	}
	if len(required) > 0 {
		dst = appendStrings(append(dst, `,"required":`...), required)
	}
	return append(dst, '}')
}
