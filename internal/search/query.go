package search

import (
	"slices"
	"strings"
)

// maxWords bounds the words of a query that are looked for; those beyond are
// ignored.
const maxWords = 32

// query is what is looked for.
type query struct {
	words []word
	// action is what is asked for; supposed is true when the query has no verb
	// for it, and so most likely asks to be shown something.
	action   action
	supposed bool
	// many and one are true when several things or just one are asked for.
	many, one bool
}

// word is one word of a query, or several that are a phrase.
type word struct {
	text string // as written, in lower case
	stem string // a term
	// joined are the stems of this word and a neighbour written as one.
	joined []string
	parts  []string // the stems of a phrase
	end    string   // its last word
	weight float64
	plural bool
	// verb is true for the verb that says what to do, thing for what it is to be
	// done with.
	verb, thing bool
	// beside is true for any other verb, context after a preposition.
	beside, context bool
	// done is true for a verb that tells what was done.
	done bool
	// site is true for a word that names a server.
	site bool
}

// known ends of names of sites.
var domains = []string{".com", ".org", ".net", ".io", ".dev", ".edu", ".gov", ".de", ".uk", ".eu", ".ai"}

// recognize writes as a word what has a form of its own, an address or a file's
// name, and hyphenated words that are also written as one.
func recognize(query string) string {
	l := words()
	var b strings.Builder
	for w := range strings.FieldsSeq(query) {
		w = strings.ReplaceAll(strings.ReplaceAll(w, "’", "'"), "n't", " not")
		w = strings.TrimSuffix(strings.TrimSuffix(w, "?"), "'s")
		plain := strings.ToLower(strings.Trim(w, ".,;:!?\"'()"))
		one := strings.ReplaceAll(plain, "-", "")
		dot := strings.LastIndexByte(plain, '.')
		switch {
		case strings.HasPrefix(plain, "http://"), strings.HasPrefix(plain, "https://"), strings.HasPrefix(plain, "www."),
			dot > 0 && slices.Contains(domains, plain[dot:]) && !strings.Contains(plain, "@"):
			w += " url"
		case dot > 0 && dot < len(plain)-1 && len(plain)-dot <= 6 && strings.Trim(plain[dot+1:], "abcdefghijklmnopqrstuvwxyz") == "":
			w += " file"
		case one != plain && (l.senses[stem(one)] != nil || l.bases[one]):
			w = one
		}
		b.WriteString(w + " ")
	}
	return b.String()
}
