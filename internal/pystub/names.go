package pystub

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNameBytes bounds a name that comes from a schema. A longer parameter or
// key is left out of signatures and classes.
const maxNameBytes = 200

// keywords cannot be identifiers, in any Python from 3.9 on.
var keywords = []string{
	"False", "None", "True", "and", "as", "assert", "async", "await", "break",
	"class", "continue", "def", "del", "elif", "else", "except", "finally",
	"for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
	"not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
}

// reserved names are used by a file itself.
var reserved = []string{
	"Any", "Dict", "List", "Literal", "Optional", "Tuple", "TypedDict", "Union",
	"bool", "float", "int", "str", "NotImplementedError", "__all__",
}

// stableLetters are letters outside ASCII that every Python from 3.9 on takes
// in identifiers and leaves as they are (identifiers are normalised by NFKC).
var stableLetters = &unicode.RangeTable{R16: []unicode.Range16{
	{0xC0, 0xD6, 1}, {0xD8, 0xF6, 1}, {0xF8, 0x131, 1}, {0x134, 0x13E, 1}, {0x141, 0x148, 1}, {0x14A, 0x17E, 1},
	{0x391, 0x3A1, 1}, {0x3A3, 0x3CE, 1}, {0x400, 0x45F, 1},
	{0x3041, 0x3096, 1}, {0x30A1, 0x30FA, 1}, {0x4E00, 0x9FA5, 1}, {0xAC00, 0xD7A3, 1},
}}

// identifier makes a parameter of a name as the runner does: content-type is
// content_type, from is from_. ok is false when a program cannot write it as
// a keyword.
func identifier(name string) (id string, ok bool) {
	if name == "" || len(name) > maxNameBytes {
		return "", false
	}
	var b strings.Builder
	for _, r := range name {
		switch {
		case isIdentifierRune(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			b.WriteByte('_')
		default:
			return "", false
		}
	}
	id = b.String()
	if '0' <= id[0] && id[0] <= '9' {
		id = "_" + id
	}
	if slices.Contains(keywords, id) {
		id += "_"
	}
	return id, true
}

func isIdentifierRune(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || unicode.Is(stableLetters, r)
}

// isPlainKey reports whether a key can be written in the body of a TypedDict
// class, where a key that looks like a type would hide it, and one with two
// leading underscores would be changed.
func isPlainKey(key string) bool {
	id, ok := identifier(key)
	return ok && id == key && !strings.HasPrefix(key, "__") && !slices.Contains(reserved, key) && !unicode.IsUpper([]rune(key)[0])
}

// className makes CamelCase of a name: list_issues and listIssues are
// ListIssues.
func className(name string) string {
	var b strings.Builder
	upper := true
	for _, r := range name {
		switch {
		case r == '_' || r >= utf8.RuneSelf || !isIdentifierRune(r):
			upper = true
		case upper:
			b.WriteRune(unicode.ToUpper(r))
			upper = '0' <= r && r <= '9'
		default:
			b.WriteRune(r)
		}
		if b.Len() >= maxClassName {
			break
		}
	}
	if name := b.String(); name != "" && '0' <= name[0] && name[0] <= '9' {
		return "_" + name
	}
	return b.String()
}

// maxClassName bounds one word of a class's name, in bytes.
const maxClassName = 48

// unique returns the name, or the first of name2, name3, … that is free.
func unique(name string, taken func(string) bool) string {
	if !taken(name) {
		return name
	}
	for i := 2; ; i++ {
		if numbered := name + strconv.Itoa(i); !taken(numbered) {
			return numbered
		}
	}
}

// quote writes a string as Python's repr does, in ASCII where a character
// could mislead a reader.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		default:
			writeRune(&b, r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// writeRune writes a character as it is if it can be seen, else as a Python
// escape.
func writeRune(b *strings.Builder, r rune) {
	switch {
	case r == ' ' || unicode.IsGraphic(r) && !unicode.IsSpace(r):
		b.WriteRune(r)
	case r < 0x100:
		b.WriteString(`\x` + hex(r, 2))
	case r < 0x10000:
		b.WriteString(`\u` + hex(r, 4))
	default:
		b.WriteString(`\U` + hex(r, 8))
	}
}

func hex(r rune, digits int) string {
	text := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", digits-len(text)) + text
}
