package pystub

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Bounds on what is read of a schema. What is beyond them is Any.
const (
	maxSchemaBytes = 4 << 20
	maxJSONDepth   = 200
)

// node is a JSON value that keeps the order of its members.
type node struct {
	kind    byte // one of { [ " 0 t f n
	text    string
	keys    []string // in the order of the document
	members map[string]*node
	items   []*node
}

var errTooDeep = errors.New("schema is nested too deeply")

// parse reads a schema. It returns nil for what is no JSON, or too much.
func parse(raw json.RawMessage) *node {
	if len(raw) == 0 || len(raw) > maxSchemaBytes || !json.Valid(raw) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	n, err := decode(decoder, 0)
	if err != nil {
		return nil
	}
	return n
}

func decode(d *json.Decoder, depth int) (*node, error) {
	if depth > maxJSONDepth {
		return nil, errTooDeep
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case string:
		return &node{kind: '"', text: v}, nil
	case json.Number:
		return &node{kind: '0', text: v.String()}, nil
	case bool:
		if v {
			return &node{kind: 't'}, nil
		}
		return &node{kind: 'f'}, nil
	case json.Delim:
		if v == '[' {
			return decodeArray(d, depth)
		}
		return decodeObject(d, depth)
	}
	return &node{kind: 'n'}, nil
}

func decodeArray(d *json.Decoder, depth int) (*node, error) {
	n := &node{kind: '['}
	for d.More() {
		item, err := decode(d, depth+1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := d.Token()
	return n, err
}

func decodeObject(d *json.Decoder, depth int) (*node, error) {
	n := &node{kind: '{', members: map[string]*node{}}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := decode(d, depth+1)
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // Token returns nothing else here
		if _, twice := n.members[name]; !twice {
			n.keys = append(n.keys, name)
			n.members[name] = value
		}
	}
	_, err := d.Token()
	return n, err
}

// get returns a member of an object, or nil.
func (n *node) get(key string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	return n.members[key]
}

// is reports whether the node is of the kind; no node is of none.
func (n *node) is(kind byte) bool { return n != nil && n.kind == kind }

// str returns a string's value, or "".
func (n *node) str() string {
	if n.is('"') {
		return n.text
	}
	return ""
}

// strings returns the strings among an array's items.
func (n *node) strings() []string {
	if !n.is('[') {
		return nil
	}
	var all []string
	for _, item := range n.items {
		if item.kind == '"' {
			all = append(all, item.text)
		}
	}
	return all
}

// has reports whether an object has one of the keys.
func (n *node) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return n.get(k) != nil })
}

// integer reports whether a number is written without fraction and exponent.
func (n *node) integer() bool { return n.is('0') && !strings.ContainsAny(n.text, ".eE") }
