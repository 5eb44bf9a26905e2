package registry

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/search"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// entry is one callable tool.
type entry struct {
	*downstream.Tool
	member *member
	part   string
	name   string // callable
	input  inputShape
	output *outputSchema // nil when none is declared
	row    []byte        // of the table
}

// readOnly reports whether the server declares that the tool changes nothing.
func (e *entry) readOnly() bool { return isTrue(e.ReadOnly) }

// repeatable reports whether making a call again cannot repeat an effect.
func (e *entry) repeatable() bool { return isTrue(e.ReadOnly) || isTrue(e.Idempotent) }

func isTrue(b *bool) bool { return b != nil && *b }

// toolset holds the callable tools of one server, made from one tool list. It
// is immutable.
type toolset struct {
	source     []downstream.Tool
	entries    []*entry // sorted by callable name
	byPart     map[string]*entry
	byOriginal map[string]*entry
	byFold     map[string]*entry // nil entry: more than one tool
	matched    []bool            // the filter's patterns that match a tool
	// Whether the filter lets programs have the server's resources and prompts.
	reads, prompts bool
	// withdrawn are the parts of tools that the server listed once and lists no
	// more, and since when, so that a program which still calls one learns why
	// it fails.
	withdrawn map[string]time.Time
	// index is what a search looks through; the first call makes it.
	index func() *search.Part
}

func newToolset(m *member, tools []downstream.Tool, f filter, logger *slog.Logger) *toolset {
	parts := toolParts(tools)
	if n := len(tools) - len(parts); n > 0 {
		logger.Warn("server lists tools of the same name; the first of each is kept", "server", m.Name(), "dropped", n)
	}
	s := &toolset{
		source:     tools,
		entries:    make([]*entry, 0, len(parts)),
		byPart:     make(map[string]*entry, len(parts)),
		byOriginal: make(map[string]*entry, len(parts)),
		byFold:     make(map[string]*entry, len(parts)),
		matched:    make([]bool, len(f.patterns)),
	}
	for part, i := range parts {
		t := &tools[i]
		name := callableName(m.part, part)
		if !f.callable(name, callableName(m.Name(), t.Name), s.matched) {
			continue
		}
		e := &entry{Tool: t, member: m, part: part, name: name, input: parseInput(t.InputSchema), output: newOutputSchema(t.OutputSchema, name, logger)}
		e.row = e.wireRow()
		s.entries = append(s.entries, e)
		s.byPart[part] = e
		s.byOriginal[t.Name] = e
		folded := fold(t.Name)
		if _, taken := s.byFold[folded]; taken {
			e = nil
		}
		s.byFold[folded] = e
	}
	s.reads = f.callable(callableName(m.part, tool.ReadResource), callableName(m.Name(), tool.ReadResource), s.matched)
	s.prompts = f.callable(callableName(m.part, tool.GetPrompt), callableName(m.Name(), tool.GetPrompt), s.matched)
	slices.SortFunc(s.entries, func(a, b *entry) int { return cmp.Compare(a.name, b.name) })
	s.index = sync.OnceValue(func() *search.Part { return newPart(s.entries) })
	return s
}

// maxWithdrawn bounds the tools of one server that are remembered though they
// are gone.
const maxWithdrawn = 1000

// withdrawnFrom returns the parts of an earlier set's tools that are not here.
func (s *toolset) withdrawnFrom(earlier *toolset) map[string]time.Time {
	if earlier == nil {
		return nil
	}
	withdrawn := map[string]time.Time{}
	note := func(part string, at time.Time) {
		if s.byPart[part] == nil && len(withdrawn) < maxWithdrawn {
			withdrawn[part] = at
		}
	}
	now := time.Now()
	for part := range earlier.byPart {
		note(part, now)
	}
	for part, at := range earlier.withdrawn {
		note(part, at)
	}
	return withdrawn
}

// madeFrom reports whether the set was made from this very list. Lists are
// immutable, so the same memory is the same list.
func (s *toolset) madeFrom(tools []downstream.Tool) bool {
	return len(s.source) == len(tools) && (len(tools) == 0 || &s.source[0] == &tools[0])
}

// find looks a tool up by its part, its original name or a spelling that
// differs from one of them in what is no letter, digit or underscore.
func (s *toolset) find(spelling string) *entry {
	if e := s.byOriginal[spelling]; e != nil {
		return e
	}
	if e := s.byPart[spelling]; e != nil {
		return e
	}
	folded := fold(spelling)
	if e := s.byPart[folded]; e != nil {
		return e
	}
	return s.byFold[folded]
}

// maxDescription bounds a description in the table, in characters.
const maxDescription = 160

// wireRow is the tool's row of the table in docs/channel.md.
func (e *entry) wireRow() []byte {
	row := appendQuoted([]byte(`{"n":`), e.name)
	row = appendQuoted(append(row, `,"s":`...), e.member.part)
	row = appendQuoted(append(row, `,"t":`...), e.part)
	var names, required []string
	for _, p := range e.input.params {
		names = append(names, p.name)
		if p.required {
			required = append(required, p.name)
		}
	}
	row = appendStrings(append(row, `,"p":`...), names)
	if len(required) > 0 {
		row = appendStrings(append(row, `,"r":`...), required)
	}
	if e.input.closed {
		row = append(row, `,"c":true`...)
	}
	separator := `,"y":{`
	for _, p := range e.input.params {
		if p.strict != nil {
			row = append(appendQuoted(append(row, separator...), p.name), ':')
			row = append(row, p.strict...)
			separator = ","
		}
	}
	if separator == "," {
		row = append(row, '}')
	}
	if d := firstLine(cmp.Or(e.Description, e.Title), maxDescription); d != "" {
		row = appendQuoted(append(row, `,"d":`...), d)
	}
	return append(row, '}')
}

// appendStrings appends a JSON array of strings.
func appendStrings(dst []byte, items []string) []byte {
	dst = append(dst, '[')
	for i, s := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, s)
	}
	return append(dst, ']')
}

// afterSeparator returns what follows a server's name in the spelling of a
// tool: "__", or one of . / : as people write it.
func afterSeparator(rest string) (string, bool) {
	if after, ok := strings.CutPrefix(rest, separator); ok {
		return after, true
	}
	if rest != "" && strings.ContainsRune("./:", rune(rest[0])) {
		return rest[1:], true
	}
	return "", false
}
