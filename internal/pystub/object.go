package pystub

import "slices"

// maxProperties bounds the members of one object that are shown.
const maxProperties = 400

// property is one member of an object.
type property struct {
	name     string
	schema   *node
	required bool
}

// object is what a schema, with all it is combined with, says of an object's
// members.
type object struct {
	properties []property
	// closed says that no other member is allowed.
	closed bool
	// others are the schemas of members that have no name: those of
	// additionalProperties and patternProperties.
	others []*node
	// partial says that some of what the schema says was not understood, or
	// left out.
	partial bool
}

// collect reads an object's members from a schema and what it is combined with.
func (c *converter) collect(n *node) *object {
	o := &object{}
	required := map[string]bool{}
	c.collectInto(o, n, required, true, nil)
	for i, p := range o.properties {
		o.properties[i].required = required[p.name]
	}
	o.properties = slices.DeleteFunc(o.properties, func(p property) bool { return p.schema.is('f') })
	if len(o.properties) > maxProperties {
		o.properties, o.partial = o.properties[:maxProperties], true
	}
	return o
}

// collectInto adds what a schema says to o. binding is false for a schema that
// need not hold: one of several options.
func (c *converter) collectInto(o *object, n *node, required map[string]bool, binding bool, seen []*node) {
	if !n.is('{') || slices.Contains(seen, n) {
		o.partial = o.partial || !n.is('t') && n != nil && n.kind != '{'
		return
	}
	if len(seen) > maxTypeDepth || !c.file.step() {
		o.partial = true
		return
	}
	seen = append(seen, n)
	if properties := n.get("properties"); properties.is('{') {
		for _, name := range properties.keys {
			o.add(name, properties.members[name])
		}
	}
	if binding {
		for _, name := range n.get("required").strings() {
			required[name] = true
		}
		if n.get("additionalProperties").is('f') || n.get("unevaluatedProperties").is('f') {
			o.closed = true
		}
	}
	if rest := n.get("additionalProperties"); rest.is('{') || rest.is('t') {
		o.others = append(o.others, rest)
	}
	if patterns := n.get("patternProperties"); patterns.is('{') {
		for _, key := range patterns.keys {
			o.others = append(o.others, patterns.members[key])
		}
	}
	if ref := reference(n); ref != "" {
		target, _ := c.resolve(ref)
		o.partial = o.partial || target == nil
		c.collectInto(o, target, required, binding, seen)
	}
	c.collectCombined(o, n, required, binding, seen)
}

func (c *converter) collectCombined(o *object, n *node, required map[string]bool, binding bool, seen []*node) {
	if parts := n.get("allOf"); parts.is('[') {
		for _, part := range parts.items {
			c.collectInto(o, part, required, binding, seen)
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if options := n.get(key); options.is('[') {
			c.collectOptions(o, options.items, required, binding, seen)
		}
	}
	for _, key := range []string{"then", "else"} {
		if part := n.get(key); part.is('{') {
			c.collectInto(o, part, required, false, seen)
		}
	}
	if parts := n.get("dependentSchemas"); parts.is('{') {
		for _, key := range parts.keys {
			c.collectInto(o, parts.members[key], required, false, seen)
		}
	}
}

// collectOptions adds the members of every option; required is what all of
// them require.
func (c *converter) collectOptions(o *object, options []*node, required map[string]bool, binding bool, seen []*node) {
	common := map[string]int{}
	for _, option := range options {
		own := map[string]bool{}
		inner := &object{}
		c.collectInto(inner, option, own, binding, seen)
		for _, p := range inner.properties {
			o.add(p.name, p.schema)
		}
		o.others = append(o.others, inner.others...)
		o.partial = o.partial || inner.partial
		for name := range own {
			common[name]++
		}
	}
	for name, count := range common {
		if binding && count == len(options) {
			required[name] = true
		}
	}
}

// add notes a member. Of several schemas for one name the first that says
// something is kept; when options differ, that of each is allowed.
func (o *object) add(name string, schema *node) {
	i := slices.IndexFunc(o.properties, func(p property) bool { return p.name == name })
	if i < 0 {
		if len(o.properties) > maxProperties {
			return
		}
		o.properties = append(o.properties, property{name: name, schema: schema})
		return
	}
	known := o.properties[i].schema
	switch {
	case known == schema:
	case !known.is('{') || len(known.keys) == 0:
		o.properties[i].schema = schema
	case schema.is('{') && len(schema.keys) > 0 && !known.alternative(schema):
		both := &node{kind: '{', keys: []string{"anyOf"}, members: map[string]*node{"anyOf": {kind: '[', items: []*node{known, schema}}}}
		if known.synthetic() {
			known.members["anyOf"].items = append(known.members["anyOf"].items, schema)
			return
		}
		both.text = synthetic
		o.properties[i].schema = both
	}
}

// synthetic marks a schema that add has put together.
const synthetic = "synthetic"

func (n *node) synthetic() bool { return n.kind == '{' && n.text == synthetic }

func (n *node) alternative(schema *node) bool {
	return n.synthetic() && slices.Contains(n.members["anyOf"].items, schema)
}

// object is the type of an object: a TypedDict where members have names, else
// a dict.
func (c *converter) object(n *node, name string, depth int) pyType {
	if depth > maxTypeDepth {
		return pyType{}
	}
	o := c.collect(n)
	if len(o.properties) == 0 {
		return pyType{kind: kindDict, parts: []pyType{c.otherType(o, name, depth)}}
	}
	class := c.file.newClass(c.prefix, name)
	if class == nil {
		return pyType{kind: kindDict, parts: []pyType{{}}}
	}
	class.doc = n.get("description").str()
	c.open[n] = class
	for _, p := range o.properties {
		if len(p.name) > maxNameBytes || !c.file.field() {
			class.open = true
			continue
		}
		class.fields = append(class.fields, field{property: p, notes: c.notes(p.schema, false), typ: c.convert(p.schema, p.name, depth+1)})
	}
	others := len(o.others) > 0 && !o.closed
	class.open = class.open || others || o.partial
	c.file.define(class)
	t := pyType{kind: kindClass, class: class}
	if others && c.accepting {
		return union(t, pyType{kind: kindDict, parts: []pyType{{}}})
	}
	return t
}

// otherType is the type of the members that have no name.
func (c *converter) otherType(o *object, name string, depth int) pyType {
	var types []pyType
	for _, schema := range o.others {
		types = append(types, c.convert(schema, name+"_value", depth+1))
	}
	return union(types...)
}
