package search

import (
	"slices"
	"strings"
)

// What a term is worth that is not the word itself.
const (
	kinWeight       = 0.6 // of a noun
	actionKinWeight = 0.5 // of the verb that says what to do
	joinedWeight    = 0.9
	prefixWeight    = 0.5
	typoWeight      = 0.4
)

const (
	// minPrefix is how much of a word makes a prefix, in bytes.
	minPrefix = 3
	// minTypo and minTwoTypos are from where on a word may have one and two
	// letters wrong, in bytes: shorter ones would become other words.
	minTypo, minTwoTypos = 4, 8
	// maxLikely bounds the spellings that one word is taken for.
	maxLikely = 20
)

// term is a term to look for in place of a word of the query.
type term struct {
	text   string
	weight float64
}

// expand returns the terms that a word may mean: the word itself, it and a
// neighbour written as one, what begins with it, its kin; and if there is none
// of the first three, what is spelled nearly like it.
func (r *ranking) expand(w word) []term {
	var found []term
	add := func(text string, weight float64) bool {
		if !slices.ContainsFunc(r.parts, func(p *Part) bool { return p.postings[text] != nil }) {
			return false
		}
		if !slices.ContainsFunc(found, func(t term) bool { return t.text == text }) {
			found = append(found, term{text, weight})
		}
		return true
	}
	known := add(w.stem, 1)
	for _, text := range w.joined {
		known = add(text, joinedWeight) || known
	}
	for _, text := range r.beginning(w.text) {
		known = add(text, prefixWeight) || known
	}
	if !known {
		for _, text := range r.nearly(w.stem) {
			add(text, typoWeight)
		}
	}
	weight := kinWeight
	if w.action {
		weight = actionKinWeight
	}
	for _, text := range kin[w.stem] {
		add(text, weight)
	}
	return found
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
