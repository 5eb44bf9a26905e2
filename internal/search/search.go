// Package search finds tools by what people ask for: a ranked full-text search
// (BM25 over weighted fields) that knows how names of tools are put together
// and what verbs and nouns people use for the same thing, forgives typing
// errors, and brings a tool that is named exactly first.
//
// It owns words, their stems and kin, and the ranking. It must not know servers,
// sessions or how results are shown, and imports nothing internal.
//
// An index is a list of parts, one for each server. A part is made once from one
// server's tools and never changes, so that a server whose list changes costs
// only its own part, and a search takes no lock.
package search

import (
	"cmp"
	"slices"
)

// Document is one tool. Texts of any size are taken; what is beyond the bounds
// in index.go is not searched.
type Document struct {
	// Callable is the name a program calls; Server and Name are the original
	// names of the server and the tool.
	Callable, Server, Name string
	// Title and Description are the server's texts.
	Title, Description string
	// Parameters are what the tool takes.
	Parameters []Parameter
}

// Parameter is one parameter of a tool.
type Parameter struct{ Name, Description string }

// Hit is a document that was found: its index in the part of that index.
type Hit struct {
	Part, Document int
	// Score orders hits of one search, the best first; it is above 0.
	Score float64
}

// worthwhile is the share of the best score that makes a hit: what has less is
// hardly about what is looked for.
const worthwhile = 0.1

// exactBonus lifts tools whose name is the query above all others.
const exactBonus = 1000

// Search returns the best hits for the query, at most limit of them, and how
// many documents match at all. Equal scores are in the order of the callable
// names, so that the same catalogue gives the same answer.
func Search(parts []*Part, query string, limit int) (hits []Hit, total int) {
	return searchWith(parts, query, limit, chosen())
}

func searchWith(parts []*Part, query string, limit int, w *weights) (hits []Hit, total int) {
	scores := newRanking(parts, w).rank(readQuery(query, w))
	best := slices.Max(append(scores, 0))
	name := key(query)
	next := 0
	for p, part := range parts {
		for d := range part.documents {
			score := scores[next]
			next++
			if part.documents[d].named(name) {
				score += exactBonus
			}
			if score > worthwhile*best {
				hits = append(hits, Hit{p, d, score})
			}
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score),
			cmp.Compare(parts[a.Part].documents[a.Document].callable, parts[b.Part].documents[b.Document].callable))
	})
	return hits[:min(len(hits), limit)], len(hits)
}
