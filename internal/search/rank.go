package search

import (
	"iter"
	"math"
)

// How the scores of a document's words become its score. The values were found
// on two thirds of the questions in internal/registry/testdata/search.
const (
	// saturation is BM25's k1: how soon more of the same word stops to matter.
	saturation = 1.0
	// lacking is what is left of a score when the document has nearly none of
	// the query's words.
	lacking = 0.6
	// unasked is what is left of it when the query says nothing of what the
	// tool's name says, and otherNumber what a word of the name is worth that
	// the query says in the other number.
	unasked     = 0.55
	otherNumber = 0.6
	// What is left of it when the name says another kind of action than the
	// query asks for, or is only supposed to ask for.
	otherAction    = 0.7
	supposedAction = 0.65
	// otherServer is what is left of it when the query names another server,
	// by a word of which this share of documents are that server's own.
	otherServer = 0.65
	distinctive = 0.8
)

// ranking ranks all documents for one query. Documents are counted through all
// parts.
type ranking struct {
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

func newRanking(parts []*Part) *ranking {
	r := &ranking{parts: parts, said: map[string]saying{}}
	for _, p := range parts {
		r.count += len(p.documents)
	}
	r.score, r.best, r.mark = make([]float64, r.count), make([]float64, r.count), make([]int, r.count)
	return r
}

// rank returns each document's score.
func (r *ranking) rank(q query) []float64 {
	possible := 0.0
	for i, w := range q.words {
		possible += r.add(w, i+1)
	}
	if possible == 0 {
		return r.score
	}
	named := r.named(q)
	next := 0
	for p, part := range r.parts {
		for d := range part.documents {
			score := &r.score[next]
			next++
			if *score == 0 {
				continue
			}
			document := &part.documents[d]
			*score *= lacking + (1-lacking)**score/possible
			*score *= unasked + (1-unasked)*document.covered(r.said)
			if document.actions != 0 && document.actions&q.actions == 0 && q.actions != 0 {
				if q.supposed {
					*score *= supposedAction
				} else {
					*score *= otherAction
				}
			}
			if named != nil && !named[p] {
				*score *= otherServer
			}
		}
	}
	return r.score
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
		// A verb is as rare as all that mean the same; a noun that is rarer
		// than its kin keeps some of that.
		rare := rarity(r.count, together)
		if !w.action {
			rare = (rare + rarity(r.count, t.count)) / 2
		}
		weight := w.weight * t.weight * rare
		most = max(most, weight)
		s := r.said[t.text]
		r.said[t.text] = saying{max(s.strength, w.weight*t.weight), s.singular || !w.plural, s.plural || w.plural}
		for document, frequency := range everywhere([]term{t}) {
			if w.supposed && r.score[document] == 0 {
				continue
			}
			if worth := weight * frequency / (frequency + saturation); worth > r.best[document] {
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
		for _, w := range q.words {
			if part.server[w.stem] && float64(len(part.postings[w.stem])) >= distinctive*float64(r.found(w.stem)) {
				if named == nil {
					named = map[int]bool{}
				}
				named[p] = true
			}
		}
	}
	return named
}
