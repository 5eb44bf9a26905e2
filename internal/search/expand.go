package search

import (
	"slices"
	"strings"
)

const (
	// minPrefix is how much of a word makes a prefix, in bytes.
	minPrefix = 3
	// minTypo and minTwoTypos are from where on a word may have one and two
	// letters wrong, in bytes: shorter ones would become other words.
	minTypo, minTwoTypos = 5, 8
	// maxLikely bounds the spellings that one word is taken for.
	maxLikely = 20
)

// term is a term to look for in place of a word of the query.
type term struct {
	text   string
	weight float64
	found  []found // by part, where it occurs
	count  int     // documents that have it
}

// found are the documents of one part that have a term; first is the number of
// the part's first document among those of all parts.
type found struct {
	postings []posting
	first    int
}

// expand returns the terms that a word may mean: the word itself, it and a
// neighbour written as one, what begins with it, its kin; and if there is none
// of the first three, what is spelled nearly like it.
func (r *ranking) expand(w word) []term {
	var terms []term
	add := func(text string, weight float64) bool {
		for i := range terms {
			if terms[i].text == text {
				terms[i].weight = max(terms[i].weight, weight)
				return true
			}
		}
		t := term{text: text, weight: weight}
		first := 0
		for _, p := range r.parts {
			if postings := p.postings[text]; postings != nil {
				t.found = append(t.found, found{postings, first})
				t.count += len(postings)
			}
			first += len(p.documents)
		}
		if t.count > 0 {
			terms = append(terms, t)
		}
		return t.count > 0
	}
	known := add(w.stem, 1)
	if w.site {
		return terms
	}
	for _, text := range w.joined {
		known = add(text, r.joined) || known
	}
	if !w.verb || words().spoken[w.text] {
		words().kin(w.stem, r.weights, func(text string, weight float64) { add(text, weight) })
	}
	if w.done {
		for _, text := range words().likely(w.stem) {
			add(text, r.same)
		}
	}
	if w.parts != nil {
		r.wordsOf(w, len(terms) > 0, add)
		return terms
	}
	if known && words().thing(w.stem) {
		return terms // a whole word, not the beginning of one
	}
	for _, text := range r.beginning(w.text) {
		known = add(text, r.prefix*float64(len(w.text))/float64(len(text))) || known
	}
	if !known {
		for _, text := range r.nearly(w.stem) {
			add(text, r.typo)
		}
	}
	return terms
}

// wordsOf adds the words of a phrase, of which the last says most.
func (r *ranking) wordsOf(w word, known bool, add func(string, float64) bool) {
	l := words()
	for i, part := range w.parts {
		switch {
		case i == len(w.parts)-1 && l.noun(w.end):
			weight := r.phraseHead
			if !known {
				weight = r.joined
			}
			if l.bases[w.end] {
				weight /= 2
			}
			add(part, weight)
		case i == 0 && len(w.parts) == 2 && l.thing(part):
			add(part, r.phraseHead/2)
		}
	}
}

// beginning returns terms that begin with the text.
func (r *ranking) beginning(text string) []string {
	if len(text) < minPrefix {
		return nil
	}
	var found []string
	for _, p := range r.parts {
		first, _ := slices.BinarySearch(p.terms, text)
		for i := first; i < len(p.terms) && len(found) < maxLikely && strings.HasPrefix(p.terms[i], text); i++ {
			if !slices.Contains(found, p.terms[i]) {
				found = append(found, p.terms[i])
			}
		}
	}
	return found
}

// nearly returns the terms spelled most like the text, if they are like enough.
func (r *ranking) nearly(text string) []string {
	if len(text) < minTypo {
		return nil
	}
	limit := 1
	if len(text) >= minTwoTypos {
		limit = 2
	}
	var found []string
	for _, p := range r.parts {
		for _, t := range p.terms {
			switch d := Distance(text, t, limit); {
			case d < limit:
				limit, found = d, append(found[:0], t)
			case d == limit && len(found) < maxLikely && !slices.Contains(found, t):
				found = append(found, t)
			}
		}
	}
	return found
}
