package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxNodes bounds the nodes looked at, so that aliases of aliases cannot make
// a small file a large one.
const maxNodes = 100_000

// decoder fills a Config from YAML nodes. It goes by the struct tags: yaml
// names the key, enum lists the words a string may be. Integers whose key ends
// in _bytes are sizes.
//
// yaml.v3's own decoding is not used because it stops short of what a message
// needs: it gives no key, and no position for values of the wrong bounds.
type decoder struct {
	problems *problems
	// given has the position of every key in the file, by its path.
	given map[string]position
	// mistyped has the paths of mappings in which a key is unknown. What seems
	// to be missing there is probably that key.
	mistyped map[string]bool

	visited int
	overrun bool
}

func newDecoder(found *problems) *decoder {
	return &decoder{problems: found, given: map[string]position{}, mistyped: map[string]bool{}}
}

// value decodes node into target. A value of the wrong type leaves target as
// it was.
func (d *decoder) value(node *yaml.Node, target reflect.Value, path string) {
	at, known := d.given[path]
	if !known {
		at = position{max(node.Line, 1), node.Column}
		d.given[path] = at
	}
	if !d.visit(at, path) {
		return
	}
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch target.Kind() {
	case reflect.Struct:
		if d.collection(node, yaml.MappingNode, at, path) {
			d.structure(node, target, path)
		}
	case reflect.Slice:
		if d.collection(node, yaml.SequenceNode, at, path) {
			d.list(node, target, path)
		}
	case reflect.Map:
		if d.collection(node, yaml.MappingNode, at, path) {
			d.texts(node, target, path)
		}
	case reflect.Bool:
		d.truth(node, target, at, path)
	case reflect.Float64:
		d.number(node, target, at, path)
	case reflect.Int, reflect.Int64:
		if strings.HasSuffix(path, "_bytes") {
			d.size(node, target, at, path)
		} else {
			d.integer(node, target, at, path)
		}
	default: // a string, of a named type or not
		d.text(node, target, at, path)
	}
}

// visit counts a node, and is false from the one on that is too many.
func (d *decoder) visit(at position, path string) bool {
	if d.visited++; d.visited > maxNodes && !d.overrun {
		d.overrun = true
		d.problems.add(at, path, "the file holds more than %d values, aliases counted", maxNodes)
	}
	return !d.overrun
}

// collection reports whether node is of the kind wanted, and complains if not.
// One without a value (all its lines commented out) counts as left out.
func (d *decoder) collection(node *yaml.Node, kind yaml.Kind, at position, path string) bool {
	switch {
	case node.Kind == kind:
		return true
	case node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null":
		return false
	case kind == yaml.MappingNode:
		d.problems.add(at, path, "wants keys with values (key: value), not %s", describe(node))
	case node.Kind == yaml.MappingNode:
		d.problems.add(at, path, "wants a list, not %s; begin each item with a dash", describe(node))
	default:
		d.problems.add(at, path, `wants a list, not %s; put it in brackets, as in ["…"]`, describe(node))
	}
	return false
}

func (d *decoder) structure(node *yaml.Node, target reflect.Value, path string) {
	fields := map[string]reflect.Value{}
	var keys []string
	for field, value := range target.Fields() {
		if key := field.Tag.Get("yaml"); key != "-" {
			fields[key] = value
			keys = append(keys, key)
		}
	}
	for _, e := range d.entries(node, path) {
		child := join(path, e.key)
		field, ok := fields[e.key]
		if !ok {
			d.mistyped[path] = true
			d.problems.add(e.at, child, "unknown key; %s", d.rightKey(e.key, keys))
			continue
		}
		d.given[child] = e.at
		if words := enum(target.Type(), e.key); words != nil {
			d.word(e.value, field, words, e.at, child)
		} else {
			d.value(e.value, field, child)
		}
	}
}

// rightKey says what to write for a key that is not among the valid ones of
// its mapping: the nearest of them, else the section that has it, else all.
func (d *decoder) rightKey(key string, valid []string) string {
	if nearest(key, valid) == "" {
		for section := range reflect.TypeFor[Config]().Fields() {
			if section.Type.Kind() != reflect.Struct {
				continue
			}
			for field := range section.Type.Fields() {
				if field.Tag.Get("yaml") == key {
					return "it belongs under " + section.Tag.Get("yaml")
				}
			}
		}
	}
	return choices(key, valid)
}

func (d *decoder) list(node *yaml.Node, target reflect.Value, path string) {
	items := reflect.Zero(target.Type()) // an empty list is nil, as one left out
	for i, child := range node.Content {
		if d.overrun {
			return
		}
		item := reflect.New(target.Type().Elem()).Elem()
		if server, ok := item.Addr().Interface().(*Server); ok {
			*server = defaultServer()
		}
		d.value(child, item, path+"["+strconv.Itoa(i)+"]")
		items = reflect.Append(items, item)
	}
	target.Set(items)
}

// texts decodes a mapping of strings.
func (d *decoder) texts(node *yaml.Node, target reflect.Value, path string) {
	entries := d.entries(node, path)
	result := make(map[string]string, len(entries))
	for _, e := range entries {
		var text string
		child := join(path, e.key)
		d.given[child] = e.at
		d.value(e.value, reflect.ValueOf(&text).Elem(), child)
		result[e.key] = text
	}
	target.Set(reflect.ValueOf(result))
}

// text takes any plain value as it is written, so that 8080, 1.10 and true
// need no quotes among arguments and environment variables.
func (d *decoder) text(node *yaml.Node, target reflect.Value, at position, path string) {
	if node.Kind == yaml.ScalarNode {
		switch node.ShortTag() {
		case "!!str", "!!int", "!!float", "!!bool", "!!timestamp", "!!merge":
			target.SetString(node.Value)
			return
		case "!!null":
			d.problems.add(at, path, `has no value; write one, or "" for an empty string`)
			return
		}
	}
	d.problems.add(at, path, "wants a string, not %s", describe(node))
}

func (d *decoder) word(node *yaml.Node, target reflect.Value, words []string, at position, path string) {
	if plain(node, "!!null") {
		d.problems.add(at, path, "has no value; use %s", orList(words))
		return
	}
	var text string
	before := len(d.problems.list)
	d.value(node, reflect.ValueOf(&text).Elem(), path)
	switch {
	case len(d.problems.list) > before:
	case slices.Contains(words, text):
		target.SetString(text)
	default:
		d.problems.add(at, path, "unknown value %s; %s", quote(text), choices(text, words))
	}
}

func (d *decoder) truth(node *yaml.Node, target reflect.Value, at position, path string) {
	var truth bool
	if !plain(node, "!!bool") || node.Decode(&truth) != nil {
		d.problems.add(at, path, "wants true or false, not %s", describe(node))
		return
	}
	target.SetBool(truth)
}

func (d *decoder) number(node *yaml.Node, target reflect.Value, at position, path string) {
	var number float64
	if !plain(node, "!!int", "!!float") || node.Decode(&number) != nil ||
		math.IsNaN(number) || math.IsInf(number, 0) {
		d.problems.add(at, path, "wants a number, not %s%s", describe(node), unitHint(path))
		return
	}
	target.SetFloat(number)
}

func (d *decoder) integer(node *yaml.Node, target reflect.Value, at position, path string) {
	var number int
	if !plain(node, "!!int") || node.Decode(&number) != nil {
		d.problems.add(at, path, "wants a whole number, not %s", describe(node))
		return
	}
	target.SetInt(int64(number))
}

func (d *decoder) size(node *yaml.Node, target reflect.Value, at position, path string) {
	if plain(node, "!!str") {
		size, err := ParseSize(node.Value)
		switch {
		case err != nil:
			d.problems.add(at, path, "%s", strings.TrimPrefix(err.Error(), "size: "))
		case target.OverflowInt(int64(size)):
			d.problems.add(at, path, "%s is too large", quote(node.Value))
		default:
			target.SetInt(int64(size))
		}
		return
	}
	var number int64
	if !plain(node, "!!int") || node.Decode(&number) != nil || target.OverflowInt(number) {
		d.problems.add(at, path, "wants a number of bytes such as 65536 or 512MiB, not %s", describe(node))
		return
	}
	target.SetInt(number)
}

func plain(node *yaml.Node, tags ...string) bool {
	return node.Kind == yaml.ScalarNode && slices.Contains(tags, node.ShortTag())
}

func unitHint(path string) string {
	if strings.HasSuffix(path, "_seconds") {
		return "; it is in seconds, such as 120 or 0.5"
	}
	return ""
}

// describe names what a node is. It repeats numbers but no text, which may be
// a secret.
func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
	case yaml.AliasNode, yaml.DocumentNode:
		return "an alias"
	}
	switch tag := node.ShortTag(); tag {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "true or false"
	case "!!int", "!!float":
		return "the number " + strings.Trim(quote(node.Value), `"`)
	case "!!str", "!!timestamp", "!!merge":
		return "a string"
	default:
		return fmt.Sprintf("a value with the tag %s", quote(tag))
	}
}

// enum returns the words that the string field with the key may be.
func enum(structure reflect.Type, key string) []string {
	for field := range structure.Fields() {
		if words := field.Tag.Get("enum"); words != "" && field.Tag.Get("yaml") == key {
			return strings.Split(words, ",")
		}
	}
	return nil
}
