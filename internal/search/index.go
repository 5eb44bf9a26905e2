package search

import (
	"maps"
	"slices"
	"strings"
)

// Bounds of what is searched of one tool, whatever its server says: characters,
// and parameters.
const (
	maxName        = 200
	maxTitle       = 200
	maxDescription = 600
	maxParameters  = 100
	maxParameter   = 120
)

// lengthShare is BM25's b: how much the length of a text counts.
const lengthShare = 0.5

// Part is the index of one server's tools. It is immutable.
type Part struct {
	documents []document
	postings  map[string][]posting // by term
	terms     []string             // sorted
	server    map[string]bool      // the terms of the server's name
}

// document is what a search needs to know of a tool beside its words.
type document struct {
	callable string
	keys     [3]string // of its names, see key
	name     []nameWord
	action   action
	outdated bool
	count    int // above 0 for a tool for many things, below for one for a single one
}

// posting is a document that has a term. The fields' usual lengths stand in for
// the averages of the whole collection, so that the weight of a term does not
// depend on other parts and can be worked out once.
type posting struct {
	document uint32
	weight   float32
}

// NewPart indexes the documents, in the order given.
func NewPart(documents []Document) *Part { return newPart(documents, chosen()) }

func newPart(documents []Document, w *weights) *Part {
	p := &Part{documents: make([]document, len(documents)), postings: map[string][]posting{}, server: map[string]bool{}}
	stems, lexicon := stems{}, words()
	for _, d := range documents {
		for _, t := range stems.terms(head(d.Server, maxName)) {
			p.server[t] = true
		}
	}
	names, first, having := make([][]string, len(documents)), map[string]int{}, map[string]int{}
	for i, d := range documents {
		names[i] = split(head(d.Name, maxName))
		for j, text := range names[i] {
			if !slices.Contains(names[i][:j], text) {
				having[stems.of(text)]++
			}
		}
		if len(names[i]) > 1 && !lexicon.bases[names[i][0]] {
			first[names[i][0]]++
		}
	}
	for i, d := range documents {
		summary, details := describe(d.Name, head(d.Description, maxDescription))
		p.documents[i] = document{
			callable: d.Callable,
			keys:     [3]string{key(d.Callable), key(d.Server + d.Name), key(d.Name)},
			action:   lexicon.actionOf(p.own(names[i], first), summary, p.server, stems),
			outdated: outdated(d),
		}
		for term, weight := range d.weights(summary, details, stems, w) {
			p.postings[term] = append(p.postings[term], posting{uint32(i), float32(weight)})
		}
	}
	for i := range documents {
		p.documents[i].name = nameWords(names[i], having, len(documents), stems)
		p.documents[i].count = p.documents[i].number()
	}
	p.terms = slices.Sorted(maps.Keys(p.postings))
	return p
}

// own is a tool's name without the words before it that its server's name or
// most other names have: slack_post_message is post message.
func (p *Part) own(name []string, first map[string]int) []string {
	for len(name) > 1 && (p.server[stem(name[0])] || first[name[0]] > 2 && first[name[0]]*2 > len(p.documents)) {
		name = name[1:]
	}
	return name
}

// named reports whether one of the names has the key.
func (d *document) named(key string) bool { return key != "" && slices.Contains(d.keys[:], key) }

// weights are the terms of a document with what they are worth over all its
// texts. Each text has a weight and a usual length in words; in a longer one a
// word says less.
func (d Document) weights(summary, details string, stems stems, w *weights) map[string]float64 {
	lexicon := words()
	var parameters, explanations strings.Builder
	for _, p := range d.Parameters[:min(len(d.Parameters), maxParameters)] {
		parameters.WriteString(head(p.Name, maxParameter) + " ")
		explanations.WriteString(head(p.Description, maxParameter) + " ")
	}
	weights := map[string]float64{}
	for _, field := range []struct {
		text          string
		weight, usual float64
	}{
		{head(d.Name, maxName), w.name, 3},
		{head(d.Title, maxTitle), w.title, 3},
		{head(d.Server, maxName), w.server, 1},
		{summary, w.summary, 10},
		{details, w.details, 60},
		{parameters.String(), w.parameter, 8},
		{explanations.String(), w.explanation, 50},
	} {
		terms := stems.terms(field.text)
		length := 1 - lengthShare + lengthShare*float64(len(terms))/field.usual
		for i, t := range terms {
			weights[t] += field.weight / length
			if p := lexicon.phraseAt(terms[i:]); p.term != "" {
				weights[p.term] += field.weight / length
			}
		}
	}
	return weights
}

// nameWord is a word of a tool's name.
type nameWord struct {
	stem   string
	plural bool
	share  float64 // of what the name says, 0 to 1
}

// nameWords weighs the words of a name by how few names of the part have them.
func nameWords(name []string, names map[string]int, documents int, stems stems) []nameWord {
	var words []nameWord
	sum := 0.0
	for _, text := range name {
		w := nameWord{stem: stems.of(text), plural: plural(text)}
		if slices.ContainsFunc(words, func(o nameWord) bool { return o.stem == w.stem }) {
			continue
		}
		w.share = rarity(documents, names[w.stem])
		sum += w.share
		words = append(words, w)
	}
	for i := range words {
		words[i].share /= sum
	}
	return words
}

// number says whether a tool shows one thing or many.
func (d *document) number() int {
	l := words()
	switch {
	case d.action.effects != reads:
		return 0
	case slices.ContainsFunc(d.name, func(w nameWord) bool { return w.plural }) || d.action.firm.meets(l.verbs["list"].firm):
		return 1
	}
	return -1
}

// verbAlone is the most of a name that its verbs are.
const verbAlone = 0.6

// covered is the share of a name that a query says, 0 to 1. agreed is how much
// the tool's action is the one asked for.
func (d *document) covered(said map[string]saying, agreed, otherNumber float64) float64 {
	share, verbs := 0.0, 0.0
	for _, w := range d.name {
		s := said[w.stem]
		if w.plural && !s.plural || !w.plural && !s.singular {
			s.strength *= otherNumber
		}
		if slices.Contains(d.action.verbs, w.stem) {
			verbs += w.share * max(s.strength, agreed)
			continue
		}
		share += w.share * s.strength
	}
	return share + min(verbs, verbAlone)
}

// head is the first limit characters of s.
func head(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	count := 0
	for i := range s {
		if count == limit {
			return s[:i]
		}
		count++
	}
	return s
}
