package search

import (
	"iter"
	"math"
)

// distinctive is the share of the documents with a word that must be one
// server's, so that the word names it.
const distinctive = 0.8

// enough is the share of what a thing can be worth from which on a tool is for
// it.
const enough = 0.4

// ranking ranks all documents for one query. Documents are counted through all
// parts.
type ranking struct {
	*weights
	parts []*Part
	count int // documents
	score []float64
	best  []float64 // for the present word
	mark  []int     // the word for which a document was last counted
	// said are the terms that the query says or may mean.
	said map[string]saying
}

// saying is how strongly a query says a term, and in which number.
type saying struct {
	strength         float64
	singular, plural bool
}

func newRanking(parts []*Part, w *weights) *ranking {
	r := &ranking{weights: w, parts: parts, said: map[string]saying{}}
	for _, p := range parts {
		r.count += len(p.documents)
	}
	r.score, r.best, r.mark = make([]float64, r.count), make([]float64, r.count), make([]int, r.count)
	return r
}

// rank returns each document's score.
func (r *ranking) rank(q query) []float64 {
	things, wanted := make([]float64, r.count), 0.0
	object := make([]float64, r.count) // how much each is for the things asked for
	named := r.named(q)
	hasObject := false
	for _, verbs := range []bool{false, true} {
		for i, w := range q.words {
			if w.verb != verbs {
				continue
			}
			if w.site {
				w.weight *= r.site
			}
			possible := r.add(w, i+1)
			if !verbs {
				wanted += possible
			}
			if w.thing && possible > 0 {
				hasObject = true
				for d, turn := range r.mark {
					if turn == i+1 {
						object[d] = max(object[d], r.best[d]/possible)
					}
				}
			}
		}
		if !verbs {
			copy(things, r.score)
		}
	}
	agreed, worth := r.agreements(&q)
	next := 0
	for p, part := range r.parts {
		for d := range part.documents {
			score, agrees, thing := &r.score[next], agreed[next], things[next]
			next++
			document := &part.documents[d]
			if *score == 0 && (q.supposed || agrees < agreeFirm) {
				continue
			}
			*score += worth * max(agrees, 0)
			if wanted > 0 {
				*score *= r.lacking + (1-r.lacking)*thing/wanted
			}
			*score *= r.unasked + (1-r.unasked)*document.covered(r.said, max(agrees, 0), r.otherNumber)
			*score *= r.actionFactor(document, &q, agrees)
			if named != nil && !named[p] {
				*score *= r.otherServer
			}
			if document.outdated {
				*score *= r.deprecated
			}
			if hasObject {
				*score *= r.otherThing + (1-r.otherThing)*min(1, object[next-1]/enough)
			}
			if q.many && document.count < 0 || q.one && !q.many && document.count > 0 {
				*score *= r.otherCount
			}
		}
	}
	return r.score
}

// agreements says of each document how much its action is the one asked for, and
// what that is worth.
func (r *ranking) agreements(q *query) (agreed []float64, worth float64) {
	agreed = make([]float64, 0, r.count)
	if !q.action.known() {
		return make([]float64, r.count), 0
	}
	found := 0.0
	for _, p := range r.parts {
		for d := range p.documents {
			a := p.documents[d].action.agrees(&q.action, r.weights)
			agreed = append(agreed, a)
			found += max(a, 0)
		}
	}
	return agreed, r.action * rarity(r.count, int(found))
}

// actionFactor is what is left of a document's score for its action.
func (r *ranking) actionFactor(d *document, q *query, agrees float64) float64 {
	other, against := r.otherAction, r.contraryAction
	if q.supposed {
		other, against = r.otherSupposed, r.contrarySupposed
	}
	switch {
	case !q.action.known():
		return 1
	case !d.action.known():
		return r.unknownAction
	case agrees < 0:
		return against
	}
	return other + (1-other)*agrees
}

// add counts a word for all documents, by the best of itself, its kin and its
// likely spellings, and returns the most that it can be worth. turn is above 0
// and differs from word to word.
func (r *ranking) add(w word, turn int) float64 {
	terms := r.expand(w)
	together := 0 // documents that have any of the terms
	for document := range everywhere(terms) {
		if r.mark[document] != turn {
			r.mark[document] = turn
			r.best[document] = 0
			together++
		}
	}
	most := 0.0
	for _, t := range terms {
		// A word that is rarer than its kin keeps some of that.
		rare := (rarity(r.count, together) + rarity(r.count, t.count)) / 2
		weight := w.weight * t.weight * rare
		most = max(most, weight)
		s, strength := r.said[t.text], w.weight*t.weight
		if w.context {
			strength *= r.contextSaid
		}
		r.said[t.text] = saying{max(s.strength, strength), s.singular || !w.plural, s.plural || w.plural}
		for document, frequency := range everywhere([]term{t}) {
			if worth := weight * frequency / (frequency + r.saturation); worth > r.best[document] {
				r.score[document] += worth - r.best[document]
				r.best[document] = worth
			}
		}
	}
	return most
}

// everywhere are the documents that have the terms, with the terms' weights in
// them.
func everywhere(terms []term) iter.Seq2[int, float64] {
	return func(yield func(document int, frequency float64) bool) {
		for _, t := range terms {
			for _, f := range t.found {
				for _, p := range f.postings {
					if !yield(f.first+int(p.document), float64(p.weight)) {
						return
					}
				}
			}
		}
	}
}

// found counts the documents that have a term.
func (r *ranking) found(term string) int {
	count := 0
	for _, p := range r.parts {
		count += len(p.postings[term])
	}
	return count
}

// rarity is BM25's inverse document frequency.
func rarity(documents, found int) float64 {
	return math.Log(1 + (float64(documents-found)+0.5)/(float64(found)+0.5))
}

// named are the parts whose server the query names, by a word that hardly
// occurs elsewhere; nil if it names none.
func (r *ranking) named(q query) map[int]bool {
	var named map[int]bool
	for p, part := range r.parts {
		for i, w := range q.words {
			if part.server[w.stem] && float64(len(part.postings[w.stem])) >= distinctive*float64(r.found(w.stem)) {
				if named == nil {
					named = map[int]bool{}
				}
				named[p] = true
				q.words[i].site = true
			}
		}
	}
	return named
}
