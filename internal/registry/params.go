package registry

import (
	"slices"
	"strings"
)

// param is one parameter of a tool.
type param struct {
	name string // as the schema spells it
	kind string // the schema's type, if it is one word
	// required is true when the schema demands it.
	required bool
	// strict is what a value plainly has to be, as JSON: the type's name, or the
	// array of the texts it can be. Nil when the schema does not say it so
	// simply, or is open.
	strict []byte
}

// inputShape is what a call needs to know of an input schema.
type inputShape struct {
	params []param // in the schema's order
	closed bool    // no other parameter is allowed
}

// parseInput reads the root of an input schema. Whatever it does not
// understand it leaves out: the server is the judge of arguments.
func parseInput(schema []byte) inputShape {
	var shape inputShape
	var required []string
	forbidden, absent := false, true   // additionalProperties is false, is not there
	patterns, combined := false, false // other keywords that may admit properties
	_, _ = eachMember(schema, skipSpace(schema, 0), func(key []byte, at int) (int, error) {
		end, err := skipValue(schema, at)
		if err != nil {
			return end, err
		}
		switch value := schema[at:end]; string(key) {
		case "properties":
			shape.params = parseProperties(value)
		case "required":
			required = stringElements(value)
		case "additionalProperties":
			absent = false
			forbidden = string(value) == "false"
		case "patternProperties":
			patterns = true
		case "anyOf", "oneOf", "allOf", "$ref", "unevaluatedProperties":
			combined = true
		}
		return end, nil
	})
	for i, p := range shape.params {
		shape.params[i].required = slices.Contains(required, p.name)
	}
	// additionalProperties: false goes by properties and patternProperties
	// alone; without it, anything combined with the schema may name others.
	shape.closed = !patterns && (forbidden || absent && !combined && len(shape.params) > 0)
	if !forbidden || patterns || combined {
		for i := range shape.params {
			shape.params[i].strict = nil
		}
	}
	return shape
}

func parseProperties(value []byte) []param {
	var params []param
	_, _ = eachMember(value, 0, func(key []byte, at int) (int, error) {
		end, err := skipValue(value, at)
		if err != nil {
			return end, err
		}
		name := string(key)
		if !slices.ContainsFunc(params, func(p param) bool { return p.name == name }) {
			params = append(params, param{name: name, kind: stringMember(value[at:end], "type"), strict: strictValue(value[at:end])})
		}
		return end, nil
	})
	return params
}

// maxStrictValues bounds the texts of an enumeration in the table, in bytes.
const maxStrictValues = 1 << 10

// strictValue reads what a literal argument can be held against before the
// server sees it: a number, or one of some texts. Servers take the text "5" for
// a number, and anything for a boolean, so only what cannot be taken for it is
// wrong; and a schema that forbids other arguments is the one that is meant so.
func strictValue(schema []byte) []byte {
	var kind string
	var values []byte
	simple := true
	_, _ = eachMember(schema, 0, func(key []byte, at int) (int, error) {
		end, err := skipValue(schema, at)
		if err != nil {
			return end, err
		}
		switch value := schema[at:end]; string(key) {
		case "type":
			if !isString(value) {
				simple = false
				break
			}
			kind = string(unquote(value))
		case "enum":
			values = value
		case "anyOf", "oneOf", "allOf", "not", "if", "const", "$ref", "nullable":
			simple = false
		}
		return end, nil
	})
	switch {
	case !simple:
	case values != nil:
		texts := stringElements(values)
		all := appendStrings(nil, texts)
		if (kind == "" || kind == "string") && len(texts) > 0 && len(texts) == elements(values) && len(all) <= maxStrictValues {
			return all
		}
	case kind == "integer" || kind == "number":
		return appendQuoted(nil, kind)
	}
	return nil
}

// elements counts an array's elements.
func elements(array []byte) int {
	count := 0
	_, _ = eachElement(array, 0, func(at int) (int, error) {
		count++
		return skipValue(array, at)
	})
	return count
}

// stringMember is the value of an object's member if that is a string.
func stringMember(object []byte, name string) string {
	var found string
	_, _ = eachMember(object, 0, func(key []byte, at int) (int, error) {
		end, err := skipValue(object, at)
		if err == nil && string(key) == name && isString(object[at:end]) {
			found = string(unquote(object[at:end]))
		}
		return end, err
	})
	return found
}

func stringElements(array []byte) []string {
	var elements []string
	_, _ = eachElement(array, 0, func(at int) (int, error) {
		end, err := skipValue(array, at)
		if err == nil && isString(array[at:end]) {
			elements = append(elements, string(unquote(array[at:end])))
		}
		return end, err
	})
	return elements
}

// pythonTypes names the Python type a program passes for a schema's type.
var pythonTypes = map[string]string{
	"string": "str", "integer": "int", "number": "float", "boolean": "bool",
	"array": "list", "object": "dict", "null": "None",
}

// signature shows how the tool is called, for messages about wrong arguments:
// the required parameters first.
func (s inputShape) signature(name string) string {
	var args []string
	for _, required := range []bool{true, false} {
		for _, p := range s.params {
			if p.required != required {
				continue
			}
			arg := p.name
			if t := pythonTypes[p.kind]; t != "" {
				arg += ": " + t
			}
			if !required {
				arg += " = …"
			}
			args = append(args, arg)
		}
	}
	return clip(name+"("+strings.Join(args, ", ")+")", maxSignature)
}

// maxSignature bounds a signature in a message, in bytes.
const maxSignature = 1000
