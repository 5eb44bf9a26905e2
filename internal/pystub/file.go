package pystub

import (
	"math"
	"slices"
	"strings"
)

// file is what one tool's wrapper file consists of, before it is text.
type file struct {
	tool       Tool
	parameters []parameter // required ones first
	unnamed    []property  // parameters that cannot be written as keywords
	result     pyType
	resultName string // of the class or alias of the result
	resultDoc  string

	qualified bool
	classes   []*class
	names     map[string]bool
	steps     int
	fields    int
	noteBytes int
}

// Bounds on the text of one file.
const (
	maxFields    = 4000
	maxNoteBytes = 256 << 10
)

// class is a TypedDict.
type class struct {
	name   string
	index  int // its place among the classes
	doc    string
	fields []field
	open   bool // keys beyond the fields are to be expected
}

// field is a key of a TypedDict.
type field struct {
	property
	typ   pyType
	notes string
}

// parameter is a keyword of the tool's function.
type parameter struct {
	property
	id       string
	typ      pyType
	notes    string
	variadic bool
}

func newFile(t Tool) *file {
	f := &file{tool: t, names: map[string]bool{t.Name: true}, qualified: slices.Contains(reserved, t.Name)}
	for _, name := range reserved {
		f.names[name] = true
	}
	prefix := className(t.Name)
	if prefix == "" {
		prefix = "Tool"
	}
	f.readOutput(prefix)
	f.readInput(prefix)
	return f
}

// readOutput comes first, so that the result has its name whatever parameters
// are called.
func (f *file) readOutput(prefix string) {
	root := parse(f.tool.Output)
	c := newConverter(f, root, prefix, false)
	if !f.tool.OutputInferred && wraps(root) {
		root = root.get("properties").get("result")
	}
	f.resultDoc = root.get("description").str()
	f.result = c.convert(root, "result", 0)
	f.resultName = prefix + "Result"
	if f.result.kind != kindClass || f.result.class.name != f.resultName {
		f.resultName = unique(f.resultName, f.taken)
		f.names[f.resultName] = true
	}
}

// wraps reports whether a schema is that of {"result": x} around what a tool
// returns; a program gets x.
func wraps(root *node) bool {
	properties := root.get("properties")
	return properties.get("result") != nil && (root.get("x-fastmcp-wrap-result").is('t') || len(properties.keys) == 1)
}

func (f *file) readInput(prefix string) {
	root := parse(f.tool.Input)
	c := newConverter(f, root, prefix, true)
	o := c.collect(root)
	slices.SortStableFunc(o.properties, func(a, b property) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	ids := map[string]bool{}
	for _, p := range o.properties {
		if id, ok := identifier(p.name); ok && id == p.name {
			ids[id] = true
		}
	}
	for _, p := range o.properties {
		id, ok := identifier(p.name)
		if !ok || id != p.name && ids[id] {
			f.unnamed = append(f.unnamed, p)
			continue
		}
		ids[id] = true
		typ := c.convert(p.schema, p.name, 1)
		_, shown := defaultText(p.schema.get("default"), typ)
		f.parameters = append(f.parameters, parameter{property: p, id: id, notes: c.notes(p.schema, shown), typ: typ})
	}
	undeclared := !root.has("properties") && len(o.properties) == 0
	if len(f.unnamed) > 0 || o.partial || !o.closed && (undeclared || len(o.others) > 0) {
		rest := parameter{id: unique("extra", func(id string) bool { return ids[id] }), variadic: true}
		if len(f.unnamed) == 0 && !o.partial {
			rest.typ = c.otherType(o, "extra", 1)
		}
		f.parameters = append(f.parameters, rest)
	}
}

// step counts the work on a file, and reports whether there may be more.
func (f *file) step() bool {
	f.steps++
	return f.steps <= maxSteps
}

func (f *file) field() bool {
	f.fields++
	return f.fields <= maxFields
}

func (f *file) taken(name string) bool { return f.names[name] }

// newClass makes a class with a name of its own, or returns nil when there are
// enough.
func (f *file) newClass(prefix, name string) *class {
	if len(f.names) > maxClasses+len(reserved) {
		return nil
	}
	// A class in mixed parts has helpers whose names derive from its own.
	name = unique(prefix+className(name), f.taken)
	f.names[name] = true
	return &class{name: name, index: math.MaxInt}
}

// define puts a class behind all that were finished before.
func (f *file) define(c *class) {
	c.index = len(f.classes)
	f.classes = append(f.classes, c)
}

// writer writes types at a place behind all classes.
func (f *file) writer(used map[string]bool) typeWriter {
	return typeWriter{before: len(f.classes), qualified: f.qualified, used: used}
}

// longResult is the length in bytes from which the result's name stands for
// its type.
const longResult = 120

func (f *file) resultText(used map[string]bool) string {
	w := f.writer(used)
	if text := w.write(f.result); len(text) <= longResult {
		return text
	}
	return f.resultName
}

// declaration is the parameter as a signature has it.
func (p parameter) declaration(w typeWriter) string {
	text := p.id + ": " + w.write(p.typ)
	switch {
	case p.variadic:
		return "**" + text
	case p.required:
		return text
	}
	if value, ok := defaultText(p.schema.get("default"), p.typ); ok {
		return text + " = " + value
	}
	return text + " = ..."
}

// defaultText writes a default as Python, if it is simple and of the type.
func defaultText(value *node, t pyType) (string, bool) {
	if value == nil {
		return "", false
	}
	if value.kind == 'n' {
		return "None", t.optional()
	}
	text, ok := literalText(value)
	if value.kind == '0' && !value.integer() {
		text, ok = value.text, len(value.text) <= 40
	}
	return text, ok && t.holds(value, text)
}

// holds reports whether a JSON scalar, written as text in Python, is of the
// type.
func (t pyType) holds(value *node, text string) bool {
	switch t.kind {
	case kindAny:
		return true
	case kindBool:
		return value.kind == 't' || value.kind == 'f'
	case kindInt:
		return value.integer()
	case kindFloat:
		return value.kind == '0'
	case kindStr:
		return value.kind == '"'
	case kindLiteral:
		return slices.Contains(t.texts, text)
	case kindUnion:
		return slices.ContainsFunc(t.parts, func(part pyType) bool { return part.holds(value, text) })
	default:
		return false
	}
}

// notes describes a member in one line: its description, and what its type
// does not say. withoutDefault is set where the default is shown elsewhere.
func (c *converter) notes(n *node, withoutDefault bool) string {
	description, facts := c.describe(n, 0)
	if value := n.get("default"); value != nil && !withoutDefault && value.kind != 'n' {
		facts = append(facts, fact("default", value))
	}
	text := oneLine(description, maxNotes)
	if len(facts) > 0 {
		text = strings.TrimSpace(text + " (" + strings.Join(facts, "; ") + ")")
	}
	if c.file.noteBytes += len(text); c.file.noteBytes > maxNoteBytes {
		return ""
	}
	return text
}
