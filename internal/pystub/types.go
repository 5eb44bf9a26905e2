package pystub

import (
	"slices"
	"strings"
)

// kind says what a Python type is made of.
type kind int

const (
	kindAny kind = iota
	kindNone
	kindBool
	kindInt
	kindFloat
	kindStr
	kindLiteral // of the texts
	kindList    // of its one part
	kindDict    // str to its one part
	kindTuple   // of its parts
	kindUnion   // of its parts, none of them a union, Any or a literal beside another
	kindClass
)

// pyType is a Python type. The zero value is Any.
type pyType struct {
	kind  kind
	parts []pyType
	texts []string // literals as Python writes them
	class *class
}

var plainNames = map[kind]string{kindAny: "Any", kindNone: "None", kindBool: "bool", kindInt: "int", kindFloat: "float", kindStr: "str"}

// Bounds on one type.
const (
	maxUnion        = 24
	maxLiterals     = 200
	maxLiteralBytes = 8 << 10
)

// union joins types into one that holds the values of each.
func union(types ...pyType) pyType {
	var parts []pyType
	var literals []string
	literalAt := -1
	add := func(t pyType) {
		switch {
		case t.kind == kindLiteral:
			if literalAt < 0 {
				literalAt = len(parts)
				parts = append(parts, pyType{kind: kindLiteral})
			}
			for _, text := range t.texts {
				if !slices.Contains(literals, text) {
					literals = append(literals, text)
				}
			}
		case !slices.ContainsFunc(parts, t.equal):
			parts = append(parts, t)
		}
	}
	for _, t := range types {
		switch t.kind {
		case kindAny:
			return pyType{}
		case kindUnion:
			for _, part := range t.parts {
				add(part)
			}
		default:
			add(t)
		}
	}
	if literalAt >= 0 {
		parts[literalAt] = literal(literals)
	}
	// None is written last.
	none := slices.ContainsFunc(parts, func(t pyType) bool { return t.kind == kindNone })
	parts = slices.DeleteFunc(parts, func(t pyType) bool { return t.kind == kindNone })
	if none {
		parts = append(parts, pyType{kind: kindNone})
	}
	switch {
	case len(parts) == 0 || len(parts) > maxUnion:
		return pyType{}
	case len(parts) == 1:
		return parts[0]
	}
	return pyType{kind: kindUnion, parts: parts}
}

// literal makes a Literal of Python literals, or the type they have in common
// when they are too many to list.
func literal(texts []string) pyType {
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	if len(texts) <= maxLiterals && size <= maxLiteralBytes {
		return pyType{kind: kindLiteral, texts: texts}
	}
	var types []pyType
	for _, text := range texts {
		types = append(types, literalType(text))
	}
	return union(types...)
}

// literalType is the type of a Python literal.
func literalType(text string) pyType {
	switch {
	case text == "True" || text == "False":
		return pyType{kind: kindBool}
	case text[0] == '\'':
		return pyType{kind: kindStr}
	}
	return pyType{kind: kindInt}
}

func (t pyType) equal(other pyType) bool {
	return t.kind == other.kind && t.class == other.class && slices.Equal(t.texts, other.texts) &&
		slices.EqualFunc(t.parts, other.parts, pyType.equal)
}

// optional reports whether None is a value of the type.
func (t pyType) optional() bool {
	return t.kind == kindAny || t.kind == kindNone ||
		t.kind == kindUnion && t.parts[len(t.parts)-1].kind == kindNone
}

// typeWriter writes types and notes which names they need.
type typeWriter struct {
	// before is the number of classes that are defined before the place the
	// type stands at; later ones are written as forward references.
	before int
	// qualified has names of typing and builtins written in full, for a file
	// in which the tool's own name hides one of them.
	qualified bool
	used      map[string]bool // names from typing; nil: not noted
}

func (w typeWriter) typing(name string) string {
	if w.used != nil {
		w.used[name] = true
	}
	if w.qualified {
		return "typing." + name
	}
	return name
}

func (w typeWriter) write(t pyType) string {
	switch t.kind {
	case kindAny:
		return w.typing("Any")
	case kindNone:
		return "None"
	case kindLiteral:
		return w.typing("Literal") + "[" + strings.Join(t.texts, ", ") + "]"
	case kindList:
		return w.typing("List") + "[" + w.write(t.parts[0]) + "]"
	case kindDict:
		return w.typing("Dict") + "[" + w.builtin("str") + ", " + w.write(t.parts[0]) + "]"
	case kindTuple:
		return w.typing("Tuple") + "[" + w.list(t.parts) + "]"
	case kindUnion:
		last := len(t.parts) - 1
		if t.parts[last].kind != kindNone {
			return w.typing("Union") + "[" + w.list(t.parts) + "]"
		}
		return w.typing("Optional") + "[" + w.write(union(t.parts[:last]...)) + "]"
	case kindClass:
		if t.class.index >= w.before {
			return "'" + t.class.name + "'"
		}
		return t.class.name
	default:
		return w.builtin(plainNames[t.kind])
	}
}

func (w typeWriter) builtin(name string) string {
	if w.qualified {
		return "builtins." + name
	}
	return name
}

func (w typeWriter) list(types []pyType) string {
	texts := make([]string, len(types))
	for i, t := range types {
		texts[i] = w.write(t)
	}
	return strings.Join(texts, ", ")
}
