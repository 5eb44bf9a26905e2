package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"
)

// member is one key of an object in a file.
type member struct {
	name         string
	value        any // as encoding/json decodes it
	line, column int
}

// document is a file's content, whatever it is written in.
type document interface {
	// object returns the members of the object at the path, in the order of
	// the file. An absent one has none; what is no object is an error.
	object(path ...string) ([]member, *Problem)
	// value returns what is at the path; nil where nothing is.
	value(path ...string) any
	// children are the members of the object at the path, each as a document.
	children(path ...string) []child
}

// child is a member of an object that is an object itself.
type child struct {
	name string
	document
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// parse reads a file's content.
func parse(file File, data []byte) (document, *Problem) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if line, column := invalidText(data); line > 0 {
		return nil, &Problem{file.Path, line, column, "not a text in UTF-8; save the file as UTF-8"}
	}
	if file.Client.format == codexTOML {
		return parseTOML(file.Path, data)
	}
	return parseJSON(file.Path, data)
}

// invalidText finds the first byte that is no UTF-8.
func invalidText(data []byte) (line, column int) {
	if utf8.Valid(data) {
		return 0, 0
	}
	offset := 0
	for {
		r, width := utf8.DecodeRune(data[offset:])
		if r == utf8.RuneError && width <= 1 {
			return lineColumn(data, offset)
		}
		offset += width
	}
}

// lineColumn counts from 1; columns are bytes.
func lineColumn(data []byte, offset int) (line, column int) {
	before := data[:offset]
	return bytes.Count(before, []byte("\n")) + 1, offset - bytes.LastIndexByte(before, '\n')
}

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

// fields reads the members of one entry. It keeps the first complaint, and
// which members were asked for.
type fields struct {
	values map[string]any
	asked  map[string]bool
	fault  string
}

func (f *fields) get(key string) (any, bool) {
	f.asked[key] = true
	value, ok := f.values[key]
	return value, ok && value != nil
}

func (f *fields) complain(key, wants string) {
	if f.fault == "" {
		f.fault = fmt.Sprintf("%s: wants %s; mend the entry", key, wants)
	}
}

func (f *fields) text(key string) string {
	value, ok := f.get(key)
	if !ok {
		return ""
	}
	text, ok := value.(string)
	if !ok {
		f.complain(key, "a string")
	}
	return text
}

func (f *fields) flag(key string) (value, given bool) {
	v, given := f.get(key)
	if !given {
		return false, false
	}
	b, ok := v.(bool)
	if !ok {
		f.complain(key, "true or false")
	}
	return b, ok
}

func (f *fields) number(key string) float64 {
	switch value, _ := f.get(key); n := value.(type) {
	case nil:
	case float64:
		return n
	case int64:
		return float64(n)
	default:
		f.complain(key, "a number")
	}
	return 0
}

func (f *fields) list(key string) []string {
	value, ok := f.get(key)
	if !ok {
		return nil
	}
	items, ok := value.([]any)
	if !ok {
		f.complain(key, "a list of strings")
		return nil
	}
	list := make([]string, 0, len(items))
	for _, item := range items {
		text, ok := scalar(item)
		if !ok {
			f.complain(key, "a list of strings")
		}
		list = append(list, text)
	}
	return list
}

func (f *fields) texts(key string) map[string]string {
	value, ok := f.get(key)
	if !ok {
		return nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		f.complain(key, "an object of strings")
		return nil
	}
	texts := make(map[string]string, len(object))
	for name, item := range object {
		text, ok := scalar(item)
		if !ok {
			f.complain(key+"."+name, "a string")
		}
		texts[name] = text
	}
	return texts
}

// scalar takes numbers and truth values for the text they are written as, as
// the clients do for arguments and variables.
func scalar(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

// meaningless are members that change nothing about the server itself.
func meaningless(key string) bool {
	switch key {
	case "$schema", "description", "displayName", "icon", "gallery", "version", "dev", "trust", "alwaysAllow", "autoApprove":
		return true
	}
	return false
}

// rest are the members nobody asked for that may mean something, sorted.
func (f *fields) rest() []string {
	var rest []string
	for key := range f.values {
		if !f.asked[key] && !meaningless(key) {
			rest = append(rest, key)
		}
	}
	slices.Sort(rest)
	return rest
}
