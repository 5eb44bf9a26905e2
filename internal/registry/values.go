package registry

import (
	"bytes"
	"encoding/json"
)

// value is what a program gets for r, as raw JSON of at most limit bytes (0:
// any size): slices of r wherever nothing has to be put together. unwrap says
// that {"result": x} is the wrapper of a tool that returns x.
func (r *result) value(unwrap bool, limit int64) (json.RawMessage, error) {
	if v := r.structuredValue(unwrap); v != nil {
		if err := checkSize(int64(len(v)), limit); err != nil {
			return nil, err
		}
		return withNotes(v, r.notes(), limit)
	}
	v, err := textValue(r.texts(), limit)
	if err != nil {
		return nil, err
	}
	return withNotes(v, r.placeholders(), limit)
}

// structuredValue is the structured content without its wrapper; nil when there
// is none.
func (r *result) structuredValue(unwrap bool) []byte {
	if unwrap && r.wrapped != nil {
		return r.wrapped
	}
	return r.structured
}

// textValue is the value of a result without structured content.
func textValue(texts [][]byte, limit int64) ([]byte, error) {
	switch len(texts) {
	case 0:
		return []byte("null"), nil
	case 1:
		return literalValue(texts[0], limit)
	}
	size := 0
	for _, t := range texts {
		size += unquotedLen(t) + len("\n")
	}
	if err := checkSize(int64(size), limit); err != nil {
		return nil, err
	}
	// The literals' insides, joined by an escaped newline, are a literal again.
	insides := make([][]byte, len(texts))
	for i, t := range texts {
		insides[i] = inner(t)
	}
	joined := append([]byte{'"'}, bytes.Join(insides, []byte(`\n`))...)
	return literalValue(append(joined, '"'), limit)
}

// literalValue is the JSON a text holds, or the text's own literal.
func literalValue(literal []byte, limit int64) ([]byte, error) {
	if limit > 0 && int64(len(literal)) > limit {
		if err := checkSize(int64(unquotedLen(literal)), limit); err != nil {
			return nil, err
		}
	}
	if mayHoldJSON(literal) {
		if text := bytes.TrimSpace(unquote(literal)); validJSON(text) {
			return text, nil
		}
	}
	return literal, checkSize(int64(len(literal)), limit)
}

// mayHoldJSON looks at the ends of a text, so that prose is not decoded only
// to find that it is none.
func mayHoldJSON(literal []byte) bool {
	first, last := ends(literal)
	switch first {
	case '{':
		return last == '}'
	case '[':
		return last == ']'
	case '"':
		return last == '"'
	case 't', 'f', 'n':
		return last == 'e' || last == 'l'
	}
	return first == '-' || '0' <= first && first <= '9'
}

// ends returns the first and the last byte of what the literal stands for, as
// far as JSON can begin or end with them, whitespace aside; 0 when there is
// none or it is written as another escape.
func ends(literal []byte) (first, last byte) {
	s := inner(literal)
	for len(s) > 0 && first == 0 {
		switch {
		case s[0] == ' ':
			s = s[1:]
		case s[0] != '\\':
			first = s[0]
		case len(s) > 1 && (s[1] == 'n' || s[1] == 'r' || s[1] == 't'):
			s = s[2:]
		case len(s) > 1 && s[1] == '"':
			first = '"'
		default:
			return 0, 0
		}
	}
	for len(s) > 0 {
		n := len(s) - 1
		switch c := s[n]; {
		case c == ' ':
			s = s[:n]
		case n > 0 && s[n-1] == '\\' && (c == 'n' || c == 'r' || c == 't'):
			s = s[:n-1]
		default:
			return first, c
		}
	}
	return first, 0
}

// withNotes adds notes to a value: spliced into an object, beside anything
// else.
func withNotes(v []byte, notes [][]byte, limit int64) (json.RawMessage, error) {
	if len(notes) == 0 {
		return v, nil
	}
	size := len(v) + len(`{"data":,"_notes":[]}`) + len(notes)
	for _, n := range notes {
		size += len(n)
	}
	if err := checkSize(int64(size), limit); err != nil {
		return nil, err
	}
	out := make([]byte, 0, size)
	if v[0] == '{' && !bytes.Contains(v, []byte(`"_notes"`)) {
		body := bytes.TrimRight(v[:len(v)-1], " \t\r\n")
		out = append(out, body...)
		if len(body) > 1 {
			out = append(out, ',')
		}
	} else {
		out = append(out, `{"data":`...)
		out = append(out, v...)
		out = append(out, ',')
	}
	out = append(out, `"_notes":[`...)
	out = append(out, bytes.Join(notes, []byte{','})...)
	return append(out, `]}`...), nil
}

func (r *result) placeholders() [][]byte {
	var notes [][]byte
	for _, b := range r.blocks {
		if b.placeholder != nil {
			notes = append(notes, b.placeholder)
		}
	}
	return notes
}

// notes are the blocks that say something beside the structured content.
func (r *result) notes() [][]byte {
	texts := r.texts()
	c := comparer{budget: compareBudget}
	repeated := c.repeatsItems(texts, r.items())
	var notes [][]byte
	for _, b := range r.blocks {
		switch {
		case b.placeholder != nil:
			notes = append(notes, b.placeholder)
		case repeated || len(inner(b.text)) == 0:
		case c.repeats(b.text, r.structured) || r.wrapped != nil && c.repeats(b.text, r.wrapped):
		case len(texts) == 1 && c.repeatsMember(b.text, r.structured):
		default:
			notes = append(notes, b.text)
		}
	}
	return notes
}

// items is the array that text blocks may repeat one by one, or nil.
func (r *result) items() []byte {
	for _, v := range [][]byte{r.wrapped, r.structured} {
		if len(v) > 0 && v[0] == '[' {
			return v
		}
	}
	return nil
}
