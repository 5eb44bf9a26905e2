package search

import (
	"slices"
	"strings"
)

// maxWords bounds the words of a query that are looked for; those beyond are
// ignored.
const maxWords = 32

// What a word is worth that is not in the query but supposed, and a verb that
// does not say what to do.
const (
	supposedWeight = 0.3
	besideWeight   = 0.4
)

// query is what is looked for.
type query struct {
	words []word
	// actions are the kinds of action asked for; supposed is true when the
	// query has no verb, and so most likely asks to be shown something.
	actions  uint64
	supposed bool
}

// word is one word of a query.
type word struct {
	text string // as written, in lower case
	stem string
	// joined are the stems of this word and a neighbour written as one.
	joined []string
	weight float64
	plural bool
	// action is true for the verb that says what to do, supposed for one that
	// the query does not have: that alone finds nothing.
	action, supposed bool
}

// readQuery splits a query into the words to look for. Words that carry no
// meaning are left out, unless there are no others. A query is read as a
// request, "make a folder", as a question, "which folders are there", or as a
// thing that is wanted, "folders of a project"; both of the latter ask to be
// shown something.
func readQuery(text string) query {
	var q query
	var empty []word
	lexicon := words()
	asked := false
	all := split(apart(head(text, maxWords*maxTerm)))
	for i, text := range all {
		w := word{text: text, stem: stem(text), weight: 1, plural: plural(text)}
		if i > 0 {
			w.joined = append(w.joined, stem(all[i-1]+text))
		}
		if i+1 < len(all) {
			w.joined = append(w.joined, stem(text+all[i+1]))
		}
		to := &q.words
		switch {
		case lexicon.interrogatives[text]:
			asked = true
			if lexicon.thingKin[w.stem] == nil {
				continue
			}
			w.weight, w.plural = supposedWeight, true
		case lexicon.functionWords[text]:
			to = &empty
		case text == "new" && q.actions&lexicon.actions["new"] != 0:
			// Beside a verb it says only which kind of action is meant.
			q.actions &= lexicon.actions["new"]
			continue
		case len(q.words) == 0 && !asked && !(lexicon.adjectives[text] && i+1 < len(all) && !lexicon.functionWords[all[i+1]]):
			q.actions = lexicon.actions[w.stem]
			w.action = q.actions != 0
		}
		if !w.action && lexicon.actions[w.stem] != 0 && lexicon.thingKin[w.stem] == nil {
			w.weight = min(w.weight, besideWeight)
		}
		if len(*to) < maxWords && !slices.ContainsFunc(*to, func(o word) bool { return o.stem == w.stem }) {
			*to = append(*to, w)
		}
	}
	if len(q.words) == 0 {
		return query{words: empty}
	}
	if asked || q.actions == 0 {
		q.actions, q.supposed = lexicon.showing, !asked
		q.words = append(q.words, word{text: "show", stem: "show", weight: supposedWeight, action: true, supposed: true})
	}
	return q
}

// apart writes hyphenated words also as one: to-do is to, do and todo.
func apart(query string) string {
	var b strings.Builder
	for w := range strings.FieldsSeq(query) {
		b.WriteString(w + " ")
		if strings.Contains(w, "-") {
			b.WriteString(strings.ReplaceAll(w, "-", "") + " ")
		}
	}
	return b.String()
}
