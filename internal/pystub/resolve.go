package pystub

import (
	"net/url"
	"strconv"
	"strings"
)

// document resolves the references within one schema.
type document struct {
	root    *node
	anchors map[string]*node // by the reference that names them: "#anchor", or an $id
}

func newDocument(root *node) *document {
	d := &document{root: root, anchors: map[string]*node{}}
	d.index(root)
	return d
}

// index notes every place that a reference can name other than by its path.
// The first of two wins.
func (d *document) index(n *node) {
	if n == nil {
		return
	}
	for _, item := range n.items {
		d.index(item)
	}
	for _, name := range [][2]string{{"$id", ""}, {"id", ""}, {"$anchor", "#"}, {"$dynamicAnchor", "#"}} {
		if value := n.get(name[0]).str(); value != "" && n != d.root {
			if _, taken := d.anchors[name[1]+value]; !taken {
				d.anchors[name[1]+value] = n
			}
		}
	}
	for _, key := range n.keys {
		d.index(n.members[key])
	}
}

// reference returns the reference a schema consists of or contains, or "".
func reference(n *node) string {
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref := n.get(key).str(); ref != "" {
			return ref
		}
	}
	return ""
}

// resolve finds what a reference names, nil when that is not in the document.
// name is the last word of the reference, for the name of a class.
func (d *document) resolve(ref string) (target *node, name string) {
	if id := d.root.get("$id").str(); id != "" {
		if rest, ok := strings.CutPrefix(ref, id); ok && (rest == "" || rest[0] == '#') {
			ref = "#" + strings.TrimPrefix(rest, "#")
		}
	}
	if target = d.anchors[ref]; target != nil {
		return target, lastWord(ref)
	}
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, ""
	}
	if unescaped, err := url.PathUnescape(path); err == nil {
		path = unescaped
	}
	target = d.root
	if path == "" {
		return target, ""
	}
	if path[0] != '/' {
		return nil, ""
	}
	steps := strings.Split(path[1:], "/")
	for _, step := range steps {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		if target.is('[') {
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(target.items) {
				return nil, ""
			}
			target = target.items[i]
		} else if target = target.get(step); target == nil {
			return nil, ""
		}
	}
	return target, lastWord(path)
}

// lastWord returns the last part of a path that names something: not a number,
// not a keyword of JSON Schema.
func lastWord(path string) string {
	steps := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '#' })
	for i := len(steps) - 1; i >= 0; i-- {
		switch step := steps[i]; step {
		case "items", "properties", "additionalProperties", "anyOf", "oneOf", "allOf", "$defs", "definitions":
		default:
			if _, err := strconv.Atoi(step); err != nil {
				return step
			}
		}
	}
	return ""
}
