package search

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// The lexicon is general usage, written down: how people speak of tools, files,
// projects, browsers, messages, money and data. What one server calls its things
// is not among it. Each file says how it is read.
var (
	//go:embed lexicon/words.txt
	wordsText string
	//go:embed lexicon/actions.txt
	actionsText string
	//go:embed lexicon/things
	things embed.FS
)

// core is how many terms of a group mean the very same.
const core = 3

// lexicon is what the files are made into. Its terms are stems; those of a
// phrase are joined by spaces.
type lexicon struct {
	words   map[string]map[string]bool // words.txt, by kind; not stemmed
	verbs   map[string]action
	bases   map[string]bool // verbs of one word, not stemmed
	spoken  map[string]bool // all that is in things, not stemmed
	named   map[string]bool // what names a thing, not stemmed
	reading action          // what a question asks for
	finding action          // what a question for a place asks for
	firm    [][]string      // the verbs of each kind
	groups  []group
	senses  map[string][]sense  // the groups of a term
	phrases map[string][]phrase // by their first stem, the longest first
}

// group is a meaning: terms that stand for each other, and terms near to them.
type group struct{ same, near []string }

// sense is one group of a term, and whether the term is one of its first or only
// near to it.
type sense struct {
	group      int
	core, near bool
}

// phrase is a term of several words.
type phrase struct {
	term  string
	stems []string
}

// words is the lexicon. The first use makes it, which takes some milliseconds
// that no process should pay that neither searches nor indexes.
var words = sync.OnceValue(func() *lexicon {
	l := &lexicon{
		words: vocabulary(), bases: map[string]bool{}, named: map[string]bool{}, spoken: map[string]bool{}, verbs: map[string]action{},
		senses: map[string][]sense{}, phrases: map[string][]phrase{},
	}
	stems := stems{}
	kind := 0
	for name, text := range entries(actionsText) {
		firm, loose, _ := strings.Cut(text, ";")
		for text := range strings.SplitSeq(firm+","+loose, ",") {
			l.bases[strings.TrimSpace(text)] = true
		}
		effect := effects[name[strings.LastIndexByte(name, ' ')+1:]]
		firmly := l.terms(firm, stems)
		l.firm = append(l.firm, firmly)
		for _, term := range firmly {
			l.verbs[term] = l.verbs[term].with(kind, true, effect)
		}
		for _, term := range l.terms(loose, stems) {
			l.verbs[term] = l.verbs[term].with(kind, false, effect)
		}
		kind++
	}
	for _, verb := range []string{"get", "list"} {
		l.reading = l.reading.or(l.verbs[verb])
	}
	l.reading.loose = l.reading.loose.or(l.verbs["find"].firm)
	l.reading.effects = reads
	l.finding = l.verbs["search"].or(l.verbs["find"])
	for line := range lines(thingsText()) {
		same, near, _ := strings.Cut(line, "<")
		for text := range strings.SplitSeq(same, ",") {
			l.named[strings.TrimSpace(text)] = true
			l.spoken[strings.TrimSpace(text)] = true
		}
		for text := range strings.SplitSeq(near, ",") {
			l.spoken[strings.TrimSpace(text)] = true
		}
		g := group{l.terms(same, stems), l.terms(near, stems)}
		for i, term := range g.same {
			l.senses[term] = append(l.senses[term], sense{group: len(l.groups), core: i < core})
		}
		for _, term := range g.near {
			l.senses[term] = append(l.senses[term], sense{group: len(l.groups), near: true})
		}
		l.groups = append(l.groups, g)
	}
	return l
})

// thingsText is all of lexicon/things.
func thingsText() string {
	var b strings.Builder
	files, _ := fs.Glob(things, "lexicon/things/*.txt")
	for _, file := range files {
		text, _ := things.ReadFile(file)
		b.Write(text)
	}
	return b.String()
}

// vocabulary is lexicon/words.txt, by kind; not stemmed.
var vocabulary = sync.OnceValue(func() map[string]map[string]bool {
	kinds := map[string]map[string]bool{}
	for name, text := range entries(wordsText) {
		kinds[name] = map[string]bool{}
		for w := range strings.FieldsSeq(text) {
			kinds[name][w] = true
		}
	}
	return kinds
})

// lines visits the lines of a lexicon file that are not comments.
func lines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line != "" && line[0] != '#' && !yield(line) {
				return
			}
		}
	}
}

// entries visits the lines of a lexicon file that are "name: text".
func entries(text string) func(yield func(name, text string) bool) {
	return func(yield func(name, text string) bool) {
		for line := range lines(text) {
			name, text, _ := strings.Cut(line, ":")
			if !yield(name, text) {
				return
			}
		}
	}
}

// terms are the terms of a list, separated by commas. Those of several words
// are noted as phrases.
func (l *lexicon) terms(list string, stems stems) []string {
	var terms []string
	for text := range strings.SplitSeq(list, ",") {
		parts := stems.terms(text)
		if len(parts) == 0 {
			continue
		}
		term := strings.Join(parts, " ")
		terms = append(terms, term)
		if len(parts) > 1 {
			l.note(phrase{term, parts})
		}
	}
	return terms
}

// note files a phrase among those with the same beginning.
func (l *lexicon) note(p phrase) {
	list := l.phrases[p.stems[0]]
	at := len(list)
	for i, other := range list {
		if other.term == p.term {
			return
		}
		if at == len(list) && len(other.stems) < len(p.stems) {
			at = i
		}
	}
	list = append(list, phrase{})
	copy(list[at+1:], list[at:])
	list[at] = p
	l.phrases[p.stems[0]] = list
}

// phraseAt is the longest phrase that the stems begin with; its term is "" if
// there is none.
func (l *lexicon) phraseAt(stems []string) phrase {
	if len(stems) == 0 {
		return phrase{}
	}
next:
	for _, p := range l.phrases[stems[0]] {
		if len(p.stems) > len(stems) {
			continue
		}
		for i, s := range p.stems {
			if stems[i] != s {
				continue next
			}
		}
		return p
	}
	return phrase{}
}

// kin visits the terms that may stand for a term, with what each is worth.
func (l *lexicon) kin(term string, w *weights, yield func(term string, weight float64)) {
	for _, s := range l.senses[term] {
		g := l.groups[s.group]
		if s.near {
			for _, t := range g.same {
				yield(t, w.broader)
			}
			continue
		}
		for i, t := range g.same {
			if s.core && i < core {
				yield(t, w.core)
			} else {
				yield(t, w.same)
			}
		}
		for _, t := range g.near {
			yield(t, w.narrower)
		}
	}
}

// thing reports whether a term names something.
func (l *lexicon) thing(term string) bool { return len(l.senses[term]) > 0 }

// verb is what a word asks for if it is a verb: a base form or an inflection of
// one, and no noun made of it (search and searching, not performance).
func (l *lexicon) verb(text, stem string) (action, bool) {
	a, ok := l.verbs[stem]
	if !ok {
		return a, false
	}
	if !l.bases[text] && irregular[text] == "" && !strings.HasSuffix(text, "s") && !strings.HasSuffix(text, "ed") && !strings.HasSuffix(text, "ing") {
		return action{}, false
	}
	a.verbs = []string{stem}
	return a, true
}

// noun reports whether a word also names a thing: a search, a report.
func (l *lexicon) noun(text string) bool {
	return l.named[text] || plural(text) && l.named[text[:len(text)-1]]
}

// likely are the verbs that mean what a verb does.
func (l *lexicon) likely(verb string) []string {
	var found []string
	for kind, verbs := range l.firm {
		if slices.Contains(verbs, verb) {
			found = append(found, l.firm[kind]...)
		}
	}
	return found
}
