package search

import (
	"slices"
	"strings"
)

// What a term is worth that is not the word itself.
const (
	kinWeight       = 0.5 // of a noun
	actionKinWeight = 0.6 // of the verb that says what to do
	joinedWeight    = 0.9
	prefixWeight    = 0.7
	typoWeight      = 0.3
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
		if slices.ContainsFunc(terms, func(t term) bool { return t.text == text }) {
			return true
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
	for _, text := range w.joined {
		known = add(text, joinedWeight) || known
	}
	for _, text := range r.beginning(w.text) {
		known = add(text, prefixWeight*float64(len(w.text))/float64(len(text))) || known
	}
	if !known {
		for _, text := range r.nearly(w.stem) {
			add(text, typoWeight)
		}
	}
	kin, weight := words().thingKin, kinWeight
	if w.action {
		kin, weight = words().actionKin, actionKinWeight
	}
	for _, text := range kin[w.stem] {
		add(text, weight)
	}
	return terms
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
