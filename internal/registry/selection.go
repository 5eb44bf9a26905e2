package registry

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// A run pays for the tools its program can name, not for the catalogue: of a
// large one the table holds the tools whose callable name or whose part is a
// word of the source, wherever it stands. Programs reach the others by way of
// servers and of ptc-mcp's own functions, which ask for them then.

// smallTable is the size of a table, in bytes, up to which it is sent as it is.
const smallTable = 8 << 10

// introspective are the words by which a program, or a library it calls, can
// look a global name up that the source does not spell. A program with one of
// them gets the whole table.
var introspective = map[string]bool{
	"globals": true, "locals": true, "vars": true, "dir": true, "eval": true, "exec": true,
	"__dict__": true, "__globals__": true, "f_globals": true, "f_locals": true,
	"modules": true, "__import__": true, "import_module": true,
	"__main__": true, // but for the usual comparison with a string
}

// tableFor is the table of a run of the program source.
func (s *snapshot) tableFor(source string) tool.Table {
	t := tool.Table{ReadOnly: s.readOnly}
	if s.wireBytes > smallTable {
		if selected, ok := s.selection(source); ok {
			t.Wire, t.Servers = rowsOf(selected), s.servers
			return t
		}
	}
	t.Wire = s.wire()
	return t
}

// selection returns the tools that the source can name, sorted; false means
// that it may name any.
func (s *snapshot) selection(source string) ([]*entry, bool) {
	var selected []*entry
	taken := map[string]bool{}
	for i := 0; i < len(source); i++ {
		if !isIdentifierByte(source[i]) {
			continue
		}
		start := i
		for i < len(source) && isIdentifierByte(source[i]) {
			i++
		}
		word := source[start:i]
		if introspective[word] && (word != "__main__" || start == 0 || source[start-1] != '"' && source[start-1] != '\'') {
			return nil, false
		}
		if tools := s.spelled[word]; len(tools) > 0 && !taken[word] {
			taken[word] = true
			selected = append(selected, tools...)
		}
	}
	slices.SortFunc(selected, func(a, b *entry) int { return cmp.Compare(a.name, b.name) })
	return slices.Compact(selected), true
}

// rowsOf is a table of some tools.
func rowsOf(entries []*entry) json.RawMessage {
	size := len("[]")
	for _, e := range entries {
		size += len(e.row) + len(",")
	}
	rows := append(make([]byte, 0, size), '[')
	for i, e := range entries {
		if i > 0 {
			rows = append(rows, ',')
		}
		rows = append(rows, e.row...)
	}
	return append(rows, ']')
}

// toolTable answers tool.ToolTable: the rows of all tools, or of one server's,
// which is named by its part of callable names.
func (r *Registry) toolTable(arguments json.RawMessage) (json.RawMessage, error) {
	s := r.current.Load()
	server := stringMember(arguments, "server")
	if server == "" {
		return s.wire(), nil
	}
	for _, v := range s.views {
		if v.part == server && v.listed() {
			return rowsOf(v.tools.entries), nil
		}
	}
	return json.RawMessage("[]"), nil
}
