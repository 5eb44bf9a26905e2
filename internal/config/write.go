package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// ReadServers returns the servers of a configuration file's text as they are
// written: variables not expanded. The error is that of Load for a file that
// cannot be decoded; values are not checked.
func ReadServers(path string, data []byte) ([]Server, error) {
	found := &problems{file: path}
	root := document(data, found)
	cfg := Default()
	if root != nil {
		newDecoder(found).value(root, reflect.ValueOf(cfg).Elem(), "")
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	for i := range cfg.Servers {
		s := &cfg.Servers[i]
		switch {
		case s.Transport != "":
		case s.URL != "":
			s.Transport = HTTP
		default:
			s.Transport = Stdio
		}
	}
	return cfg.Servers, nil
}

const newFileHeader = `# Configuration of ptc-mcp; docs/configuration.md explains every key.
# yaml-language-server: $schema=https://raw.githubusercontent.com/ptc-mcp/ptc-mcp/main/config/ptc-mcp.schema.json

`

// AddServers returns the text of a configuration file with servers added to
// its list, everything else left as it is, comments and layout included. Where
// the list is written in a way to which no lines can be added, the file is laid
// out anew; then comments stay as well. An empty text gives a new file.
func AddServers(data []byte, servers []Server) ([]byte, error) {
	if len(servers) == 0 {
		return data, nil
	}
	items := sequence()
	for _, s := range servers {
		items.Content = append(items.Content, serverNode(s))
	}
	lines, err := encode(items)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return append([]byte(newFileHeader+"servers:\n"), indented(lines, 2, "\n")...), nil
	}
	found := &problems{}
	root := document(data, found)
	if err := found.err(); err != nil {
		return nil, err
	}
	if spliced := splice(data, root, lines); holds(spliced, data, items) {
		return spliced, nil
	}
	var whole yaml.Node
	if err := yaml.Unmarshal(data, &whole); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if err := appendItems(whole.Content[0], items); err != nil {
		return nil, err
	}
	laidOut, err := encode(&whole)
	if err == nil && !holds(laidOut, data, items) {
		err = errors.New("configuration: servers cannot be added to this file; add them by hand")
	}
	return laidOut, err
}

// splice adds the lines of items to the text, nil where that is not possible.
func splice(data []byte, root *yaml.Node, lines []byte) []byte {
	newline := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		newline = "\r\n"
	}
	text := bytes.Split(data, []byte("\n"))
	last := func(before int) int { // the last line with content, counted from 1
		for before > 0 {
			line := bytes.TrimSpace(text[before-1])
			if len(line) > 0 && line[0] != '#' {
				return before
			}
			before--
		}
		return 0
	}
	join := func(before, between, after []byte) []byte {
		if len(before) > 0 && before[len(before)-1] != '\n' {
			before = append(bytes.TrimSuffix(before, []byte("\r")), newline...)
		}
		return bytes.Join([][]byte{before, between, after}, nil)
	}
	through := func(line int) []byte {
		return bytes.Clone(bytes.Join(text[:line], []byte("\n")))
	}
	from := func(line int) []byte { return bytes.Join(text[line:], []byte("\n")) }

	key, value, next := member(root, "servers")
	switch {
	case root == nil || key == nil && root.Style&yaml.FlowStyle == 0:
		added := append([]byte(newline+"servers:"+newline), indented(lines, 2, newline)...)
		return join(bytes.TrimRight(data, " \r\n"), added, nil)
	case key == nil:
		return nil
	case value.Kind == yaml.SequenceNode && value.Style&yaml.FlowStyle == 0 && len(value.Content) > 0:
		end := last(len(text))
		if next != nil {
			end = last(next.Line - 1)
		}
		return join(through(end), indented(lines, value.Column-1, newline), from(end))
	case value.Kind == yaml.SequenceNode && len(value.Content) == 0, value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null":
		line := text[key.Line-1]
		colon := bytes.IndexByte(line, ':')
		if colon < 0 || value.Line != key.Line && value.Value != "" {
			return nil
		}
		rest := bytes.TrimSpace(line[colon+1:])
		for _, empty := range []string{"[]", "null", "~"} {
			rest = bytes.TrimPrefix(rest, []byte(empty))
		}
		head := append(bytes.Clone(line[:colon+1]), newline...)
		if rest = bytes.TrimSpace(rest); len(rest) > 0 {
			head = fmt.Appendf(nil, "%s %s%s", line[:colon+1], rest, newline)
		}
		before := through(key.Line - 1)
		return join(before, append(head, indented(lines, 2, newline)...), from(key.Line))
	}
	return nil
}

// member finds a key of a mapping, its value, and the key after it.
func member(mapping *yaml.Node, name string) (key, value, next *yaml.Node) {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil, nil, nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value != name {
			continue
		}
		key, value = mapping.Content[i], mapping.Content[i+1]
		if i+2 < len(mapping.Content) {
			next = mapping.Content[i+2]
		}
	}
	return key, value, next
}

func appendItems(root, items *yaml.Node) error {
	key, value, _ := member(root, "servers")
	switch {
	case root.Kind != yaml.MappingNode:
		return errors.New("configuration: the file holds no keys; servers cannot be added")
	case value == nil:
		root.Content = append(root.Content, scalar("servers"), items)
	case value.Kind == yaml.SequenceNode:
		value.Style = 0
		if value.LineComment != "" { // it has no place beside a list of lines
			key.HeadComment = strings.Trim(key.HeadComment+"\n"+value.LineComment, "\n")
			value.LineComment = ""
		}
		value.Content = append(value.Content, items.Content...)
	case value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null":
		*value = *items
	default:
		return errors.New("configuration: servers is no plain list; add to it by hand")
	}
	return nil
}

// holds reports whether the new text says what the old one does, with the
// items at the end of servers.
func holds(text, old []byte, items *yaml.Node) bool {
	var before, after map[string]any
	var added []any
	if text == nil || yaml.Unmarshal(old, &before) != nil || yaml.Unmarshal(text, &after) != nil || items.Decode(&added) != nil {
		return false
	}
	if before == nil {
		before = map[string]any{}
	}
	list, _ := before["servers"].([]any)
	before["servers"] = append(list, added...)
	return reflect.DeepEqual(before, after)
}

func indented(lines []byte, by int, newline string) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(string(lines)) {
		b.WriteString(strings.Repeat(" ", by) + strings.TrimRight(line, "\n") + newline)
	}
	return b.Bytes()
}
