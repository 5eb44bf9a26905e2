package clients

import (
	"errors"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlDocument is TOML, decoded into the types of encoding/json.
type tomlDocument struct {
	path   string
	root   map[string]any
	places map[string][2]int // of tables and keys, by dotted path
}

func parseTOML(path string, data []byte) (document, *Problem) {
	d := &tomlDocument{path: path, root: map[string]any{}, places: map[string][2]int{}}
	if err := toml.Unmarshal(data, &d.root); err != nil {
		p := &Problem{Path: path, Message: "not valid TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
		if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
			p.Line, p.Column = decode.Position()
		}
		return nil, p
	}
	for key := range tomlKeys(data) {
		for n := range key.path {
			dotted := strings.Join(key.path[:n+1], "\x00")
			if _, seen := d.places[dotted]; !seen {
				line, column := lineColumn(data, key.offset)
				d.places[dotted] = [2]int{line, column}
			}
		}
	}
	return d, nil
}

// tomlKey is a table's header, or a key of a table.
type tomlKey struct {
	path   []string // from the root
	table  bool
	offset int // of its first part
}

// tomlKeys yields headers and keys in the order of a file that is valid.
func tomlKeys(data []byte) func(func(tomlKey) bool) {
	return func(yield func(tomlKey) bool) {
		var parser unstable.Parser
		parser.Reset(data)
		var table []string
		for parser.NextExpression() {
			node := parser.Expression()
			if node.Kind == unstable.Comment {
				continue
			}
			var path []string
			offset := -1
			for keys := node.Key(); keys.Next(); {
				if offset < 0 {
					offset = int(keys.Node().Raw.Offset)
				}
				path = append(path, string(keys.Node().Data))
			}
			isTable := node.Kind != unstable.KeyValue
			if isTable {
				table = path
			} else {
				path = slices.Concat(table, path)
			}
			if !yield(tomlKey{path, isTable, max(offset, 0)}) {
				return
			}
		}
	}
}

// children is for JSON, where one file speaks of many projects.
func (d *tomlDocument) children(...string) []child { return nil }

func (d *tomlDocument) value(path ...string) any {
	var at any = d.root
	for _, key := range path {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[key]
	}
	return at
}

func (d *tomlDocument) object(path ...string) ([]member, *Problem) {
	value := d.value(path...)
	if value == nil {
		return nil, nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		at := d.places[strings.Join(path, "\x00")]
		return nil, &Problem{d.path, at[0], at[1], strings.Join(path, ".") + ": wants a table for each server"}
	}
	var members []member
	for name, value := range object {
		at, ok := d.places[strings.Join(append(slices.Clone(path), name), "\x00")]
		if !ok { // in an inline table
			at = d.places[strings.Join(path, "\x00")]
		}
		members = append(members, member{name, value, at[0], at[1]})
	}
	slices.SortFunc(members, func(a, b member) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return strings.Compare(a.name, b.name)
	})
	return members, nil
}
