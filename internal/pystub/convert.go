package pystub

import (
	"slices"
	"strings"
)

// Bounds on what becomes of one schema.
const (
	maxTypeDepth = 24
	maxClasses   = 250
	maxSteps     = 20000 // schemas looked at; a few references can make a schema grow without end
)

// converter makes Python types of the schemas in one document.
type converter struct {
	*document
	file   *file
	prefix string // of classes' names
	// accepting is true for what is passed to a tool: more than the named
	// keys of an open object is then no mistake.
	accepting bool
	made      map[*node]pyType // finished types, by their schema
	open      map[*node]*class // schemas being converted; nil: not as a class
}

func newConverter(f *file, root *node, prefix string, accepting bool) *converter {
	return &converter{
		document: newDocument(root), file: f, prefix: prefix, accepting: accepting,
		made: map[*node]pyType{}, open: map[*node]*class{},
	}
}

// convert returns the type of a schema's values. name is what a class made of
// it is called, after the prefix.
func (c *converter) convert(n *node, name string, depth int) pyType {
	if !n.is('{') || len(n.keys) == 0 || depth > maxTypeDepth || !c.file.step() {
		return pyType{}
	}
	if t, done := c.made[n]; done {
		return t
	}
	if class, busy := c.open[n]; busy {
		if class == nil {
			return pyType{} // a cycle without a name in it
		}
		return pyType{kind: kindClass, class: class}
	}
	c.open[n] = nil
	t := c.fresh(n, name, depth)
	delete(c.open, n)
	c.made[n] = t
	return t
}

func (c *converter) fresh(n *node, name string, depth int) pyType {
	t := c.bare(n, name, depth)
	if n.get("nullable").is('t') && !t.optional() {
		return union(t, pyType{kind: kindNone})
	}
	return t
}

func (c *converter) bare(n *node, name string, depth int) pyType {
	if value := n.get("const"); value != nil {
		return literalOf([]*node{value})
	}
	if values := n.get("enum"); values.is('[') && len(values.items) > 0 {
		return literalOf(values.items)
	}
	if ref := reference(n); ref != "" && !n.has("properties", "allOf", "anyOf", "oneOf", "items") {
		target, word := c.resolve(ref)
		if word != "" {
			name = word
		}
		return c.convert(target, name, depth+1)
	}
	if c.objectLike(n) {
		return c.object(n, name, depth)
	}
	if options := n.get("anyOf"); options.is('[') {
		return c.options(n, options.items, name, depth)
	}
	if options := n.get("oneOf"); options.is('[') {
		return c.options(n, options.items, name, depth)
	}
	if parts := n.get("allOf"); parts.is('[') {
		return c.narrowest(n, parts.items, name, depth)
	}
	return c.byType(n, name, depth)
}

// options is the type of anyOf and oneOf. What stands beside them says what an
// option leaves open.
func (c *converter) options(n *node, options []*node, name string, depth int) pyType {
	types := make([]pyType, 0, len(options))
	for i, option := range options {
		if option.is('f') {
			continue
		}
		word := name
		if title := option.get("title").str(); title != "" && i > 0 {
			word = title
		}
		t := c.convert(option, word, depth+1)
		if t.kind == kindAny {
			t = c.byType(n, name, depth)
		}
		types = append(types, t)
	}
	return union(types...)
}

// narrowest is the type of allOf for what is no object: that part which says
// most.
func (c *converter) narrowest(n *node, parts []*node, name string, depth int) pyType {
	best := c.byType(n, name, depth)
	for _, part := range parts {
		t := c.convert(part, name, depth+1)
		if best.kind == kindAny || t.kind == kindLiteral && best.kind != kindLiteral {
			best = t
		}
	}
	return best
}

func (c *converter) byType(n *node, name string, depth int) pyType {
	declared := n.get("type")
	if declared.is('[') {
		var types []pyType
		for _, word := range declared.strings() {
			types = append(types, c.ofType(word, n, name, depth))
		}
		return union(types...)
	}
	if word := declared.str(); word != "" {
		return c.ofType(word, n, name, depth)
	}
	if n.has("items", "prefixItems") {
		return c.array(n, name, depth)
	}
	return pyType{}
}

func (c *converter) ofType(word string, n *node, name string, depth int) pyType {
	switch word {
	case "string":
		return pyType{kind: kindStr}
	case "integer":
		return pyType{kind: kindInt}
	case "number":
		return pyType{kind: kindFloat}
	case "boolean":
		return pyType{kind: kindBool}
	case "null":
		return pyType{kind: kindNone}
	case "array":
		return c.array(n, name, depth)
	case "object":
		return c.object(n, name, depth)
	}
	return pyType{}
}

// array is a tuple where the schema lists the items and allows no others of a
// type of their own, else a list.
func (c *converter) array(n *node, name string, depth int) pyType {
	first, rest := n.get("prefixItems"), n.get("items")
	if rest.is('[') { // draft 7
		first, rest = rest, n.get("additionalItems")
	}
	item := name
	if !strings.HasSuffix(item, "Item") {
		item += "_item"
	}
	if first == nil || len(first.items) == 0 {
		return pyType{kind: kindList, parts: []pyType{c.convert(rest, item, depth+1)}}
	}
	var parts []pyType
	for _, schema := range first.items {
		parts = append(parts, c.convert(schema, item, depth+1))
	}
	if rest.is('{') {
		return pyType{kind: kindList, parts: []pyType{union(append(parts, c.convert(rest, item, depth+1))...)}}
	}
	if len(parts) > maxUnion {
		return pyType{kind: kindList, parts: []pyType{union(parts...)}}
	}
	return pyType{kind: kindTuple, parts: parts}
}

// literalOf is the type of a value out of some. Numbers with a fraction, lists
// and objects cannot be literals.
func literalOf(values []*node) pyType {
	var types []pyType
	for _, v := range values {
		types = append(types, valueType(v))
	}
	return union(types...)
}

func valueType(v *node) pyType {
	if text, ok := literalText(v); ok {
		return pyType{kind: kindLiteral, texts: []string{text}}
	}
	switch v.kind {
	case 'n':
		return pyType{kind: kindNone}
	case '"':
		return pyType{kind: kindStr}
	case '0':
		if v.integer() {
			return pyType{kind: kindInt}
		}
		return pyType{kind: kindFloat}
	case '[':
		return pyType{kind: kindList, parts: []pyType{{}}}
	}
	return pyType{kind: kindDict, parts: []pyType{{}}}
}

// literalText writes a value as Python does inside Literal. A text with a
// character that JSON could not carry is not known well enough.
func literalText(v *node) (string, bool) {
	switch v.kind {
	case '"':
		return quote(v.text), len(v.text) <= maxNameBytes && !strings.ContainsRune(v.text, '\uFFFD')
	case 't':
		return "True", true
	case 'f':
		return "False", true
	case '0':
		return v.text, v.integer() && len(v.text) <= 40 && v.text != "-0"
	}
	return "", false
}

// objectLike reports whether a schema speaks of an object's members, itself or
// in what it is combined with.
func (c *converter) objectLike(n *node) bool {
	return c.speaksOfMembers(n, nil)
}

func (c *converter) speaksOfMembers(n *node, seen []*node) bool {
	if !n.is('{') || slices.Contains(seen, n) || len(seen) > maxTypeDepth || !c.file.step() {
		return false
	}
	if declared := n.get("type"); declared != nil && declared.str() != "object" {
		return false
	}
	if n.has("properties", "patternProperties", "additionalProperties", "required") {
		return true
	}
	seen = append(seen, n)
	if parts := n.get("allOf"); parts.is('[') {
		for _, part := range parts.items {
			if c.speaksOfMembers(part, seen) {
				return true
			}
		}
	}
	if ref := reference(n); ref != "" && len(seen) > 1 {
		target, _ := c.resolve(ref)
		return c.speaksOfMembers(target, seen)
	}
	return false
}
