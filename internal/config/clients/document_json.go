package clients

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonDocument is JSON, with comments and trailing commas.
type jsonDocument struct {
	path string
	data []byte
	root hujson.Value
}

var hujsonError = regexp.MustCompile(`^hujson: line ([0-9]+), column ([0-9]+): (.*)`)

func parseJSON(path string, data []byte) (document, *Problem) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}") // clients leave empty files behind
	}
	root, err := hujson.Parse(data)
	if err != nil {
		p := &Problem{Path: path, Message: "not valid JSON: " + err.Error()}
		if m := hujsonError.FindStringSubmatch(err.Error()); m != nil {
			p.Line, _ = strconv.Atoi(m[1])
			p.Column, _ = strconv.Atoi(m[2])
			p.Message = "not valid JSON: " + m[3]
		}
		return nil, p
	}
	d := &jsonDocument{path: path, data: data, root: root}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, &Problem{path, 1, 1, "holds no JSON object; it should begin with {"}
	}
	return d, nil
}

// find returns the value at a path; of repeated keys the last counts.
func (d *jsonDocument) find(path []string) *hujson.Value {
	at := &d.root
	for _, key := range path {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		at = nil
		for i := range object.Members {
			if hasName(object.Members[i].Name, key) {
				at = &object.Members[i].Value
			}
		}
		if at == nil {
			return nil
		}
	}
	return at
}

func hasName(name hujson.Value, key string) bool {
	literal, ok := name.Value.(hujson.Literal)
	return ok && text(literal) == key
}

// text is a string's value, unescaped only where something is escaped: Claude
// Code keeps thousands of keys in its file.
func text(literal hujson.Literal) string {
	if len(literal) < 2 || bytes.IndexByte(literal, '\\') >= 0 {
		return literal.String()
	}
	return string(literal[1 : len(literal)-1])
}

func (d *jsonDocument) children(path ...string) []child {
	v := d.find(path)
	if v == nil {
		return nil
	}
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	var children []child
	for i := range object.Members {
		name, ok := object.Members[i].Name.Value.(hujson.Literal)
		if _, isObject := object.Members[i].Value.Value.(*hujson.Object); ok && isObject {
			children = append(children, child{text(name), &jsonDocument{d.path, d.data, object.Members[i].Value}})
		}
	}
	return children
}

func (d *jsonDocument) decode(v *hujson.Value) any {
	standard := v.Clone() // without its comments
	standard.Standardize()
	var value any
	if err := json.Unmarshal(standard.Pack(), &value); err != nil {
		return nil // cannot happen: it was parsed before
	}
	return value
}

func (d *jsonDocument) value(path ...string) any {
	if v := d.find(path); v != nil {
		return d.decode(v)
	}
	return nil
}

func (d *jsonDocument) object(path ...string) ([]member, *Problem) {
	v := d.find(path)
	if v == nil {
		return nil, nil
	}
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		if v.Value.Kind() == 'n' {
			return nil, nil
		}
		line, column := lineColumn(d.data, v.StartOffset)
		return nil, &Problem{d.path, line, column, strings.Join(path, ".") + ": wants an object with a server for each key"}
	}
	var members []member
	last := map[string]int{} // as every JSON parser of the clients has it, the last one of a name counts
	for i := range object.Members {
		name, ok := object.Members[i].Name.Value.(hujson.Literal)
		if !ok {
			continue
		}
		m := member{name: name.String(), value: d.decode(&object.Members[i].Value)}
		m.line, m.column = lineColumn(d.data, object.Members[i].Name.StartOffset)
		if earlier, ok := last[m.name]; ok {
			members[earlier].name = ""
			members[earlier].value = dropped{}
		}
		last[m.name] = len(members)
		members = append(members, m)
	}
	return slices.DeleteFunc(members, func(m member) bool { return m.value == any(dropped{}) }), nil
}

// dropped stands in place of a member that a later one of its name replaces.
type dropped struct{}
