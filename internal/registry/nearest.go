package registry

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/search"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

const (
	// maxNearest is how many names a suggestion lists.
	maxNearest = 3
	// maxCompared bounds the bytes of a name that are compared, and with them
	// the work for a catalogue of thousands.
	maxCompared = 64
)

// nearest returns the names closest to an unknown one, the best first: those
// that differ by few characters or consist of the same words.
func nearest(unknown string, names []string) []string {
	type candidate struct {
		name  string
		score int
	}
	query := plain(unknown)
	limit := max(2, len(query)/3)
	var found []candidate
	for _, name := range names {
		if score := likeness(query, plain(name), limit); score <= limit {
			found = append(found, candidate{name, score})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.name, b.name))
	})
	best := make([]string, 0, maxNearest)
	for _, c := range found[:min(len(found), maxNearest)] {
		best = append(best, c.name)
	}
	return best
}

// plain is what is left of a name when spelling habits are taken away.
func plain(name string) string {
	s := strings.ToLower(fold(strings.TrimPrefix(name, tool.Prefix)))
	return s[:min(len(s), maxCompared)]
}

// likeness is 0 for equal names and grows with their difference; beyond limit
// it need not be exact.
func likeness(query, name string, limit int) int {
	whole := search.Distance(query, name, limit)
	_, part, _ := strings.Cut(name, separator)
	_, queryPart, qualified := strings.Cut(query, separator)
	if !qualified {
		queryPart = query
	}
	if queryPart == "" || part == "" {
		return whole
	}
	// The same tool elsewhere is a good guess, but a worse one.
	best := min(whole, 1+search.Distance(queryPart, part, limit))
	if containsWords(part, queryPart) || containsWords(queryPart, part) {
		best = min(best, 2)
	}
	return best
}

// containsWords reports whether all words of the part occur in s, if they are
// long enough to mean something.
func containsWords(s, part string) bool {
	if len(part) < 3 {
		return false
	}
	for word := range strings.SplitSeq(part, "_") {
		if !strings.Contains(s, word) {
			return false
		}
	}
	return true
}

// didYouMean ends a message about an unknown name.
func didYouMean(unknown string, names []string) string {
	if meant := orMean(unknown, names); meant != "" {
		return meant
	}
	if len(names) == 0 {
		return "; no tools are callable at present"
	}
	return "; " + tool.ListCallableTools + "() lists what there is"
}

// orMean is didYouMean for names of any kind; empty when none is near.
func orMean(unknown string, names []string) string {
	if best := nearest(unknown, names); len(best) > 0 {
		return "; did you mean " + strings.Join(best, " or ") + "?"
	}
	return ""
}
