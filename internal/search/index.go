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
	actions  uint64 // the kinds of action of the first verb in its name
}

// posting is a document that has a term. The fields' usual lengths stand in for
// the averages of the whole collection, so that the weight of a term does not
// depend on other parts and can be worked out once.
type posting struct {
	document uint32
	weight   float32
}

// NewPart indexes the documents, in the order given.
func NewPart(documents []Document) *Part {
	p := &Part{documents: make([]document, len(documents)), postings: map[string][]posting{}, server: map[string]bool{}}
	stems, actions := stems{}, words().actions
	for i, d := range documents {
		p.documents[i] = document{callable: d.Callable, keys: [3]string{key(d.Callable), key(d.Server + d.Name), key(d.Name)}}
		for term, weight := range d.weights(stems) {
			p.postings[term] = append(p.postings[term], posting{uint32(i), float32(weight)})
		}
	}
	for i, d := range documents {
		p.documents[i].name = p.nameWords(d.Name)
		for _, w := range p.documents[i].name {
			if p.documents[i].actions = actions[w.stem]; p.documents[i].actions != 0 {
				break
			}
		}
		for _, t := range stems.terms(head(d.Server, maxName)) {
			p.server[t] = true
		}
	}
	p.terms = slices.Sorted(maps.Keys(p.postings))
	return p
}

// named reports whether one of the names has the key.
func (d *document) named(key string) bool { return key != "" && slices.Contains(d.keys[:], key) }

// weights are the terms of a document with what they are worth over all its
// texts. Each text has a weight and a usual length in words; in a longer one a
// word says less.
func (d Document) weights(stems stems) map[string]float64 {
	summary, details := cutSentence(head(d.Description, maxDescription))
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
		{head(d.Name, maxName), 3.5, 3},
		{head(d.Title, maxTitle), 1.5, 3},
		{head(d.Server, maxName), 0.6, 1},
		{summary, 2.5, 10},
		{details, 0.7, 60},
		{parameters.String(), 0.5, 8},
		{explanations.String(), 0.25, 50},
	} {
		terms := stems.terms(field.text)
		length := 1 - lengthShare + lengthShare*float64(len(terms))/field.usual
		for _, t := range terms {
			weights[t] += field.weight / length
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

// nameWords weighs the words of a name by how few of the part's tools have them.
func (p *Part) nameWords(name string) []nameWord {
	var words []nameWord
	sum := 0.0
	for _, text := range split(head(name, maxName)) {
		w := nameWord{stem: stem(text), plural: plural(text)}
		if slices.ContainsFunc(words, func(o nameWord) bool { return o.stem == w.stem }) {
			continue
		}
		w.share = rarity(len(p.documents), len(p.postings[w.stem]))
		sum += w.share
		words = append(words, w)
	}
	for i := range words {
		words[i].share /= sum
	}
	return words
}

// covered is the share of a name that a query says, 0 to 1.
func (d *document) covered(said map[string]saying) float64 {
	share := 0.0
	for _, w := range d.name {
		s := said[w.stem]
		if w.plural && !s.plural || !w.plural && !s.singular {
			s.strength *= otherNumber
		}
		share += w.share * s.strength
	}
	return share
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

// cutSentence splits a description after its first sentence or line, which in
// most says what the tool is for.
func cutSentence(s string) (first, rest string) {
	s = strings.TrimSpace(s)
	end := len(s)
	for _, mark := range []string{". ", ".\n", "\n"} {
		if i := strings.Index(s, mark); i >= 0 {
			end = min(end, i+len(mark))
		}
	}
	return s[:end], s[end:]
}
