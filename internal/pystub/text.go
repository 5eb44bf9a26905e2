package pystub

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds on texts that come from a server, in bytes.
const (
	maxNotes       = 600  // on one member
	maxFact        = 100  // one constraint
	maxDescription = 8000 // of a tool or a class
)

// facts are the keywords that say more of a value than its Python type does,
// in the order in which they are shown.
var facts = []string{
	"format", "pattern", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "contentEncoding", "contentMediaType", "deprecated",
}

// describe returns a member's description and facts, following a reference, and
// of a type or null the type.
func (c *converter) describe(n *node, depth int) (description string, found []string) {
	if !n.is('{') || depth > maxTypeDepth {
		return "", nil
	}
	description = n.get("description").str()
	for _, key := range facts {
		if value := n.get(key); value != nil && !value.is('f') {
			found = append(found, fact(key, value))
		}
	}
	inner := c.only(n)
	if inner != nil {
		below, more := c.describe(inner, depth+1)
		if description == "" {
			description = below
		}
		found = append(found, more...)
	}
	if description == "" {
		description = n.get("title").str()
	}
	return description, found
}

// only returns the one schema that n stands for: what it refers to, or its only
// option that is not null.
func (c *converter) only(n *node) *node {
	if ref := reference(n); ref != "" {
		target, _ := c.resolve(ref)
		return target
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if options := n.get(key); options.is('[') {
			rest := slices.DeleteFunc(slices.Clone(options.items), func(o *node) bool { return o.get("type").str() == "null" })
			if len(rest) == 1 {
				return rest[0]
			}
		}
	}
	return nil
}

func fact(key string, value *node) string {
	if value.is('t') && key != "default" {
		return key
	}
	text := value.text
	if value.kind != '"' || key == "default" {
		text = compact(value)
	}
	return key + ": " + oneLine(text, maxFact)
}

// compact writes a value as JSON, as far as it fits a fact.
func compact(n *node) string {
	var b strings.Builder
	n.appendJSON(&b)
	return b.String()
}

func (n *node) appendJSON(b *strings.Builder) {
	if b.Len() > maxFact {
		return
	}
	switch n.kind {
	case '"':
		b.WriteString(jsonString(n.text))
	case '0':
		b.WriteString(n.text)
	case 't':
		b.WriteString("true")
	case 'f':
		b.WriteString("false")
	case 'n':
		b.WriteString("null")
	case '[':
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteString(", ")
			}
			item.appendJSON(b)
		}
		b.WriteByte(']')
	case '{':
		b.WriteByte('{')
		for i, key := range n.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(jsonString(key) + ": ")
			n.members[key].appendJSON(b)
		}
		b.WriteByte('}')
	}
}

func jsonString(s string) string {
	encoded, err := json.Marshal(clip(s, maxFact))
	if err != nil { // cannot happen: a string
		return `""`
	}
	return string(encoded)
}

// clip cuts a text to at most limit bytes, at a character's border.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	limit -= len("…")
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// oneLine makes one line of a text, for a comment or a line of a docstring.
func oneLine(s string, limit int) string {
	return printable(strings.Join(strings.Fields(clip(strings.ToValidUTF8(s, "\uFFFD"), limit)), " "), limit)
}

// printable replaces what cannot be seen: control characters, line separators,
// marks of direction.
func printable(s string, limit int) string {
	var b strings.Builder
	for _, r := range clip(s, limit) {
		writeRune(&b, r)
	}
	return b.String()
}

// docstring writes lines as a docstring that nothing in them can end. Each line
// is indented; the last one has the closing quotes.
func docstring(lines []string, indent string) string {
	var b strings.Builder
	b.WriteString(indent + `"""`)
	for i, line := range lines {
		line = strings.TrimRight(line, " ")
		if i > 0 {
			b.WriteByte('\n')
			if line != "" {
				b.WriteString(indent)
			}
		}
		b.WriteString(escapeDoc(line))
	}
	if len(lines) > 1 {
		b.WriteString("\n" + indent)
	} else if last := lines[len(lines)-1]; strings.HasSuffix(last, `"`) {
		b.WriteByte(' ')
	}
	b.WriteString(`"""` + "\n")
	return b.String()
}

func escapeDoc(line string) string {
	var b strings.Builder
	for i, r := range line {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == '"' && strings.HasPrefix(line[i:], `""`):
			b.WriteString(`\"`)
		case r == '\t':
			b.WriteString("    ")
		default:
			writeRune(&b, r)
		}
	}
	return b.String()
}

// textLines splits a description into lines, without what surrounds it.
func textLines(s string, limit int) []string {
	s = strings.TrimSpace(clip(strings.ToValidUTF8(s, "\uFFFD"), limit))
	if s == "" {
		return nil
	}
	return strings.Split(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"), "\n")
}
