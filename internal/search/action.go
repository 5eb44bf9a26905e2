package search

import (
	"slices"
	"strings"
)

// What an action does to the world.
const (
	reads = 1 << iota
	changes
	removes
	runs
)

var effects = map[string]uint8{"reads": reads, "changes": changes, "removes": removes, "runs": runs}

// action is what a tool does or a query asks for, by the verbs for it.
type action struct {
	// verbs are the verbs that were said, as terms.
	verbs []string
	// firm are the kinds of action that the verbs stand for, loose those that
	// they may also mean.
	firm, loose kinds
	// effects are the effects of the firm kinds.
	effects uint8
}

// kinds is a set of kinds of action, by their lines in lexicon/actions.txt.
type kinds [3]uint64

func (k kinds) with(kind int) kinds {
	k[kind/64] |= 1 << (kind % 64)
	return k
}

func (k kinds) or(o kinds) kinds   { return kinds{k[0] | o[0], k[1] | o[1], k[2] | o[2]} }
func (k kinds) meets(o kinds) bool { return k[0]&o[0]|k[1]&o[1]|k[2]&o[2] != 0 }

// known reports whether there is any kind.
func (a *action) known() bool { return a.firm != kinds{} || a.loose != kinds{} }

func (a action) with(kind int, firm bool, effect uint8) action {
	if firm {
		a.firm = a.firm.with(kind)
		a.effects |= effect
	} else {
		a.loose = a.loose.with(kind)
	}
	return a
}

// or is an action that is any of the two.
func (a action) or(b action) action {
	verbs := slices.Clone(a.verbs)
	for _, v := range b.verbs {
		if !slices.Contains(verbs, v) {
			verbs = append(verbs, v)
		}
	}
	return action{verbs, a.firm.or(b.firm), a.loose.or(b.loose), a.effects | b.effects}
}

// How much two actions may be the same.
const (
	agreeVerb = 1
	agreeFirm = 0.9
	agreeNot  = 0
	contrary  = -1 // one reads what the other changes, and so on
)

// agrees says how much two actions may be the same.
func (a *action) agrees(b *action, w *weights) float64 {
	switch {
	case slices.ContainsFunc(a.verbs, func(v string) bool { return slices.Contains(b.verbs, v) }):
		return agreeVerb
	case a.firm.meets(b.firm):
		return agreeFirm
	case a.firm.meets(b.loose) || a.loose.meets(b.firm):
		return w.partly
	case a.loose.meets(b.loose):
		return w.loosely
	case a.effects&b.effects == 0 && a.effects != 0 && b.effects != 0:
		return contrary
	}
	return agreeNot
}

// maxVerbs bounds the verbs that a description may begin with.
const maxVerbs = 4

// actionOf is what a tool does: what the first verb of its name says, and the
// verbs that its description begins with, "List, create or close a tab".
func (l *lexicon) actionOf(name []string, summary string, server map[string]bool, stems stems) action {
	var a action
	for i, text := range name {
		v, ok := l.verb(text, stems.of(text))
		if !ok || i > 0 && l.noun(text) && !a.known() {
			continue
		}
		if a = a.or(v).or(l.phrasal(name[i:], stems)); !l.words["light"][text] {
			break
		}
	}
	if n := len(name) - 1; n > 0 && l.words["giving"][name[0]] && l.noun(name[n]) && l.phraseAt([]string{stems.of(name[n-1]), stems.of(name[n])}).term == "" {
		if v, ok := l.verb(name[n], stems.of(name[n])); ok {
			a = a.or(action{v.verbs, v.firm, v.loose, a.effects}) // add a comment: to comment
		}
	}
	a = a.or(l.opening(summary, a.known(), server, stems))
	if a.known() {
		return a
	}
	for _, text := range name {
		if v, ok := l.verb(text, stems.of(text)); ok {
			return v
		}
	}
	return a
}

// opening is what the first verbs of a description say. Those that say little
// count only if nothing is known yet.
func (l *lexicon) opening(summary string, known bool, server map[string]bool, stems stems) action {
	var a action
	for field := range strings.FieldsSeq(summary) {
		parts := split(field)
		if len(parts) == 0 {
			continue
		}
		text := parts[0]
		s := stems.of(text)
		v, ok := l.verb(text, s)
		switch {
		case (l.words["opening"][s] || server[s]) && !a.known():
		case ok && (!a.known() || !l.noun(text) || strings.ContainsAny(field, ",/")):
			if !known || !l.words["light"][s] {
				a = a.or(v)
			}
			if len(parts) > 1 {
				if v, ok := l.verb(parts[1], stems.of(parts[1])); ok {
					a = a.or(v)
				}
			}
			if len(a.verbs) >= maxVerbs {
				return a
			}
			if !strings.HasSuffix(field, ",") {
				_, after, _ := strings.Cut(summary, field)
				a = a.or(l.phrasal(append(parts, split(head(after, maxTerm))...), stems))
				return a.or(l.continued(summary, field, stems))
			}
		case text == "and" || text == "or":
		default:
			return a
		}
	}
	return a
}

// phrasal is what the verb of several words says that the words begin with.
func (l *lexicon) phrasal(words []string, stems stems) action {
	terms := make([]string, len(words))
	for i, w := range words {
		terms[i] = stems.of(w)
	}
	p := l.phraseAt(terms)
	a, ok := l.verbs[p.term]
	if ok {
		a.verbs = []string{p.term}
	}
	return a
}

// continued is what a verb after "and" or "or" says: fetch or search, retrieves
// and queries.
func (l *lexicon) continued(summary, field string, stems stems) action {
	_, after, _ := strings.Cut(summary, field)
	next := split(head(after, maxTerm))
	if len(next) > 1 && (next[0] == "and" || next[0] == "or") {
		if v, ok := l.verb(next[1], stems.of(next[1])); ok {
			return v
		}
	}
	return action{}
}
