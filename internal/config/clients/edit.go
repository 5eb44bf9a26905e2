package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// AddServer returns a client's file with one more server that is started by a
// command; the rest of the file stays as it is, comments and layout included.
// An empty file gives a new one.
func (f File) AddServer(data []byte, name, command string, args []string) ([]byte, error) {
	if f.Client.format == codexTOML {
		return addTable(f, data, name, command, args)
	}
	entry := []field{{"command", command}, {"args", args}}
	list := "mcpServers"
	switch {
	case f.Client.format == vscodeJSON:
		list = "servers"
		entry = slices.Insert(entry, 0, field{"type", "stdio"})
	case f.Client.Name == "claude-code": // as its own command writes it
		entry = append(slices.Insert(entry, 0, field{"type", "stdio"}), field{"env", map[string]string{}})
	}
	return f.edit(data, func(e *jsonEditor) error {
		return e.set([]string{list, name}, entry)
	})
}

// StopServer returns the file of an entry with that entry switched off, where
// the client knows that, or else removed.
func (e Entry) StopServer(data []byte) ([]byte, error) {
	if e.File.Client.format == codexTOML {
		return disableTable(e, data)
	}
	list := []string{"mcpServers"}
	switch {
	case e.File.Client.format == vscodeJSON:
		list = []string{"servers"}
	case e.Scope == Local:
		list = []string{"projects", e.project, "mcpServers"}
	}
	return e.File.edit(data, func(editor *jsonEditor) error {
		if e.File.Client.Name == "windsurf" {
			return editor.set(append(list, e.Name, "disabled"), true)
		}
		return editor.remove(append(list, e.Name))
	})
}

// Stops says what StopServer does to the entry.
func (e Entry) Stops() string {
	if e.File.Client.format == codexTOML || e.File.Client.Name == "windsurf" {
		return "switched off"
	}
	return "removed"
}

// field is a member of an object that is written, in its place.
type field struct {
	name  string
	value any
}

// edit changes JSON. What comes out is read again, so that a fault of the
// change cannot reach the file.
func (f File) edit(data []byte, change func(*jsonEditor) error) ([]byte, error) {
	mark, text := []byte{}, data
	if rest, found := bytes.CutPrefix(data, byteOrderMark); found {
		mark, text = byteOrderMark, rest
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	if _, problem := parse(f, text); problem != nil {
		return nil, problem
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	e := &jsonEditor{root: &root, newline: "\n", unit: "  "}
	if bytes.Contains(text, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	if bytes.Contains(text, []byte("\n\t")) {
		e.unit = "\t"
	}
	if err := change(e); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	packed := root.Pack()
	if _, problem := parse(f, packed); problem != nil {
		return nil, fmt.Errorf("%s: cannot be edited; do it by hand", f.Path)
	}
	return append(bytes.Clone(mark), packed...), nil
}

// jsonEditor changes a syntax tree. Comments stay where they are.
type jsonEditor struct {
	root          *hujson.Value
	newline, unit string
}

// set gives the member at the path a value, and makes it and the objects above
// it where they are missing.
func (e *jsonEditor) set(path []string, value any) error {
	at := e.root
	for depth, key := range path {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return fmt.Errorf("%s is no object", strings.Join(path[:depth], "."))
		}
		i := slices.IndexFunc(object.Members, func(m hujson.ObjectMember) bool { return memberName(m) == key })
		if i < 0 {
			for n := len(path) - 1; n > depth; n-- {
				value = []field{{path[n], value}}
			}
			return e.add(object, depth, key, value)
		}
		at = &object.Members[i].Value
	}
	parsed, err := hujson.Parse(e.encode(value, len(path)))
	if err != nil {
		return err
	}
	at.Value = parsed.Value
	return nil
}

func memberName(m hujson.ObjectMember) string {
	literal, _ := m.Name.Value.(hujson.Literal)
	return literal.String()
}

// add appends a member to an object that stands at the given depth.
func (e *jsonEditor) add(object *hujson.Object, depth int, name string, value any) error {
	parsed, err := hujson.Parse(e.encode(value, depth+1))
	if err != nil {
		return err
	}
	added := hujson.ObjectMember{
		Name:  hujson.Value{Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: parsed.Value},
	}
	indent := e.newline + strings.Repeat(e.unit, depth+1)
	if len(object.Members) == 0 {
		comment := strings.TrimRight(string(object.AfterExtra), " \t\r\n")
		added.Name.BeforeExtra = hujson.Extra(comment + indent)
		object.AfterExtra = hujson.Extra(e.newline + strings.Repeat(e.unit, depth))
		object.Members = append(object.Members, added)
		return nil
	}
	first := string(object.Members[0].Name.BeforeExtra)
	if at := strings.LastIndex(first, "\n"); at >= 0 {
		indent = e.newline + first[at+1:]
	} else { // all on one line
		indent = " "
	}
	if last := &object.Members[len(object.Members)-1].Value; last.AfterExtra != nil {
		added.Value.AfterExtra = hujson.Extra{} // a comma after the last one
	}
	after := string(object.AfterExtra)
	comment := strings.TrimRight(after, " \t\r\n")
	if strings.HasPrefix(after[strings.LastIndex(comment, "\n")+1:], "//") || strings.Contains(comment, "//") {
		if indent == " " {
			indent = e.newline + strings.Repeat(e.unit, depth+1) // a line comment ends with its line
		}
	}
	added.Name.BeforeExtra = hujson.Extra(comment + indent)
	object.AfterExtra = hujson.Extra(after[len(comment):])
	object.Members = append(object.Members, added)
	return nil
}

// remove takes the member at the path out; comments before it stay.
func (e *jsonEditor) remove(path []string) error {
	at := e.root
	for depth, key := range path {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return fmt.Errorf("%s is no object", strings.Join(path[:depth], "."))
		}
		i := slices.IndexFunc(object.Members, func(m hujson.ObjectMember) bool { return memberName(m) == key })
		if i < 0 {
			return fmt.Errorf("%s is not there any more", strings.Join(path[:depth+1], "."))
		}
		if depth < len(path)-1 {
			at = &object.Members[i].Value
			continue
		}
		gone := object.Members[i]
		if comment := strings.TrimRight(string(gone.Name.BeforeExtra), " \t\r\n"); comment != "" {
			next := &object.AfterExtra
			if i+1 < len(object.Members) {
				next = &object.Members[i+1].Name.BeforeExtra
			}
			*next = append(hujson.Extra(comment), *next...)
		}
		object.Members = slices.Delete(object.Members, i, i+1)
		if i > 0 && i == len(object.Members) {
			// What became the last one has a comma if that one had.
			last := &object.Members[i-1].Value
			if gone.Value.AfterExtra == nil && last.AfterExtra != nil {
				object.AfterExtra = append(last.AfterExtra, object.AfterExtra...)
				last.AfterExtra = nil
			} else if gone.Value.AfterExtra != nil && last.AfterExtra == nil {
				last.AfterExtra = hujson.Extra{}
			}
		}
	}
	return nil
}

// encode writes a value, its lines indented for the depth at which it stands.
func (e *jsonEditor) encode(value any, depth int) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	list, isFields := value.([]field)
	if !isFields {
		if reflect.ValueOf(value).Kind() == reflect.Slice {
			items := reflect.ValueOf(value)
			var parts []string
			for i := range items.Len() {
				parts = append(parts, string(e.encode(items.Index(i).Interface(), depth)))
			}
			return []byte("[" + strings.Join(parts, ", ") + "]")
		}
		_ = encoder.Encode(value) // strings, lists and maps of strings, and truth values only
		return bytes.TrimSpace(b.Bytes())
	}
	b.WriteString("{")
	for i, f := range list {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(e.newline + strings.Repeat(e.unit, depth+1))
		b.Write(e.encode(f.name, depth))
		b.WriteString(": ")
		b.Write(e.encode(f.value, depth+1))
	}
	b.WriteString(e.newline + strings.Repeat(e.unit, depth) + "}")
	return b.Bytes()
}
