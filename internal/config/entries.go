package config

import (
	"regexp"

	"gopkg.in/yaml.v3"
)

// entry is one key of a mapping.
type entry struct {
	key   string
	value *yaml.Node
	at    position
}

// entries returns the keys of a mapping in the order of the file, those merged
// with << after its own, and complains of keys given twice.
func (d *decoder) entries(node *yaml.Node, path string) []entry {
	m := merger{decoder: d, path: path, seen: map[string]position{}, active: map[*yaml.Node]bool{}}
	m.merge(node, true)
	return m.entries
}

type merger struct {
	decoder *decoder
	path    string
	entries []entry
	seen    map[string]position
	active  map[*yaml.Node]bool // the mappings being merged: one may name itself
}

// merge adds the keys of node that are not there yet. own is false for a
// mapping that is merged in, whose keys may well be there.
func (m *merger) merge(node *yaml.Node, own bool) {
	if m.active[node] {
		return
	}
	m.active[node] = true
	defer delete(m.active, node)

	var merged []*yaml.Node
	here := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		at := position{key.Line, key.Column}
		if !m.decoder.visit(at, m.path) {
			return
		}
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			m.decoder.problems.add(at, m.path, "has %s as a key; keys are plain words", describe(key))
			continue
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		first, there := m.seen[key.Value]
		switch {
		case !there:
			m.seen[key.Value] = at
			m.entries = append(m.entries, entry{key.Value, value, at})
		case own || here[key.Value]:
			m.decoder.problems.add(at, join(m.path, key.Value), "given twice, first in line %d; keep one", first.line)
		}
		here[key.Value] = true
	}
	for _, value := range merged {
		m.mergeValue(value)
	}
}

// mergeValue merges what << names: a mapping or a list of mappings.
func (m *merger) mergeValue(value *yaml.Node) {
	at := position{value.Line, value.Column}
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch value.Kind {
	case yaml.MappingNode:
		m.merge(value, false)
	case yaml.SequenceNode:
		for _, item := range value.Content {
			if item.Kind == yaml.AliasNode {
				item = item.Alias
			}
			if item.Kind != yaml.MappingNode {
				m.decoder.problems.add(at, join(m.path, "<<"), "merges %s; it merges mappings only", describe(item))
				return
			}
			m.merge(item, false)
		}
	default:
		m.decoder.problems.add(at, join(m.path, "<<"), "merges %s; it merges mappings only", describe(value))
	}
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_<$-]{1,64}$`)

// join appends a key to a path.
func join(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}
