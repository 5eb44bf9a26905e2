package search

import (
	"cmp"
	"slices"
	"strings"
)

// maxGap bounds the words between a verb and its particle.
const maxGap = 5

// lightWeight is what a verb is worth as a word that leaves it to what follows
// to say what is done.
const lightWeight = 0.05

// digitsWeight is what a number is worth: it is most likely a value.
const digitsWeight = 0.2

// reader reads a query into its words.
type reader struct {
	*lexicon
	w      *weights
	texts  []string
	stems  []string
	starts map[int]bool // where a clause begins
	used   []bool       // by a phrase of which the parts stand apart
	query  query
	empty  []word // words that mean little
	// asked is true after an interrogative, begins until a clause has a word
	// that means something, context after a preposition, aside after what begins
	// an aside, named when the things asked for have been named.
	asked, begins, context, aside, named bool
	// last is the word of the query before, plus 1, if it may be the thing that
	// is asked for.
	last int
}

// readQuery splits a query into the words to look for. Words that carry no
// meaning are left out, unless there are no others. A query is read as a
// request, "make a folder", as a question, "which folders are there", or as a
// thing that is wanted, "folders of a project"; both of the latter ask to be
// shown something.
func readQuery(text string, w *weights) query {
	r := reader{lexicon: words(), w: w, starts: map[int]bool{}}
	for clause := range strings.SplitSeq(head(text, maxWords*maxTerm), ", ") {
		r.starts[len(r.texts)] = true
		r.texts = append(r.texts, split(recognize(clause))...)
	}
	r.texts = r.texts[:min(len(r.texts), 2*maxWords)]
	for i, t := range r.texts {
		if r.starts[i] {
			t = r.meantVerb(t)
			r.texts[i] = t
		}
		r.stems = append(r.stems, stem(t))
	}
	r.used = make([]bool, len(r.texts))
	for i := 0; i < len(r.texts); {
		if r.starts[i] {
			r.begins, r.context, r.aside = true, false, false
		}
		if r.used[i] {
			i++
			continue
		}
		length, content := r.read(i)
		if content {
			r.begins = false
		} else if !r.is("article", i) {
			r.end(r.texts[i])
		}
		i += length
	}
	r.end("")
	if len(r.query.words) == 0 && (r.query.supposed || !r.query.action.known()) {
		return query{words: r.empty}
	}
	if !r.query.action.known() {
		r.query.action, r.query.supposed = r.reading, true
	}
	return r.query
}

// meantVerb is the verb that a word at the beginning most likely is, when it is
// no known word but a verb with a typing error.
func (r *reader) meantVerb(text string) string {
	s := stem(text)
	if len(text) < minTypo || r.bases[text] || r.verbs[s].firm != (kinds{}) || r.thing(s) || r.words["function"][text] {
		return text
	}
	meant := ""
	for verb := range r.bases {
		if Distance(text, verb, 1) == 1 && (meant == "" || verb < meant) {
			meant = verb
		}
	}
	return cmp.Or(meant, text)
}

// is reports whether the word at i is one of a kind in lexicon/words.txt.
func (r *reader) is(kind string, i int) bool { return i < len(r.texts) && r.words[kind][r.texts[i]] }

// read reads the word or phrase at i. It returns how many words that were, and
// whether they mean something.
func (r *reader) read(i int) (length int, content bool) {
	mayAsk := r.begins && !r.asked && !r.query.action.known()
	if mayAsk {
		if length := r.verbAt(i); length > 0 {
			return length, true
		}
	}
	if i+1 < len(r.texts) && r.texts[i+1] == "me" && r.bases[r.texts[i]] {
		return 2, false // and tell me
	}
	if p := r.phraseAt(r.stems[i:]); p.term != "" && r.thing(p.term) {
		r.addPhrase(i, p)
		return len(p.stems), true
	}
	if !r.named {
		r.query.many = r.query.many || r.is("many", i)
		r.query.one = r.query.one || r.is("one", i)
	}
	switch {
	case mayAsk && r.is("question", i) && !r.own(i) && (r.starts[i] || !r.is("auxiliary", i)):
		r.ask(i)
		return 1, false
	case r.is("aside", i) && len(r.query.words) > 0:
		r.aside = true
		return 1, false
	case r.is("preposition", i) && len(r.query.words) > 0:
		r.context = r.context || r.texts[i] != "of"
		return 1, false
	case r.is("function", i) || r.is("question", i) || r.is("preposition", i):
		if len(r.empty) < maxWords {
			r.empty = append(r.empty, r.word(i))
		}
		return 1, false
	case r.texts[i] == "new" && r.query.action.known():
		return 1, false
	}
	return 1, r.addWord(i)
}

// word is the word at i.
func (r *reader) word(i int) word {
	w := word{text: r.texts[i], stem: r.stems[i], weight: 1, plural: plural(r.texts[i])}
	if i > 0 && !r.is("function", i-1) {
		w.joined = append(w.joined, stem(r.texts[i-1]+w.text))
	}
	if i+1 < len(r.texts) && !r.is("function", i+1) {
		w.joined = append(w.joined, stem(w.text+r.texts[i+1]))
	}
	return w
}

// addWord adds the word at i, if it means something.
func (r *reader) addWord(i int) bool {
	w := r.word(i)
	if r.is("number", i) {
		w.weight = r.w.interrogative
		last := r.last
		r.add(w)
		r.last = last
		return true
	}
	if _, ok := r.verb(w.text, w.stem); ok && (!r.thing(w.stem) || strings.HasSuffix(w.text, "ed")) {
		if r.words["light"][w.stem] {
			return false
		}
		w.weight, w.beside = r.w.beside, true
		w.done = strings.HasSuffix(w.text, "ed") || irregular[w.text] != ""
	}
	if r.is("vague", i) {
		w.weight *= r.w.vague
	}
	if r.is("adjective", i) {
		w.weight *= r.w.beside / 2
	}
	r.add(w)
	return true
}

// addPhrase adds the phrase at i.
func (r *reader) addPhrase(i int, p phrase) {
	texts := r.texts[i : i+len(p.stems)]
	end := texts[len(texts)-1]
	r.add(word{
		text: strings.Join(texts, " "), stem: p.term, joined: []string{stem(strings.Join(texts, ""))},
		parts: p.stems, end: end, weight: 1, plural: plural(end),
	})
}

// add appends a word that is not yet there.
func (r *reader) add(w word) {
	w.context = r.context
	if r.context {
		w.weight *= r.w.context
	}
	if r.aside {
		w.weight *= r.w.aside
	}
	if strings.Trim(w.text, "0123456789") == "" {
		w.weight *= digitsWeight
	}
	if len(r.query.words) < maxWords && !slices.ContainsFunc(r.query.words, func(o word) bool { return o.stem == w.stem }) {
		r.query.words = append(r.query.words, w)
		if !w.verb {
			r.last = len(r.query.words)
		}
	}
}

// end ends the naming of a thing, if there is one; what says no more than that
// there is another lets the next one be one, too.
func (r *reader) end(by string) {
	if r.last > 0 && !r.named {
		w := &r.query.words[r.last-1]
		if !w.beside && !r.words["adjective"][w.text] {
			w.thing = true
			r.query.many = r.query.many || w.plural
			r.named = by != "of" && by != "and" && by != "or"
		}
	}
	r.last = 0
}

// ask reads the interrogative at i.
func (r *reader) ask(i int) {
	r.asked = true
	r.query.action, r.query.supposed = r.reading, true
	switch r.texts[i] {
	case "why":
		r.query.action = r.verbs[r.stems[i]].or(r.reading)
	case "where":
		r.query.action = r.finding
	}
	if r.thing(r.stems[i]) {
		w := r.word(i)
		w.weight, w.plural, w.joined = r.w.interrogative, true, nil
		r.add(w)
		if w.text != "who" {
			r.last = 0
		}
	}
}

// own reports whether the interrogative at i begins what the speaker wants to
// do: how do I, how can we, can you.
func (r *reader) own(i int) bool {
	speaker := func(i int) bool { return r.is("speaker", i) }
	switch r.texts[i] {
	case "how":
		return i+1 < len(r.texts) && r.texts[i+1] == "to" || speaker(i+2)
	case "can", "could", "do":
		return speaker(i + 1)
	}
	return false
}

// imperative reports whether the word at i may ask for something: show, showing,
// not shown.
func (r *reader) imperative(i int) bool {
	_, ok := r.verb(r.texts[i], r.stems[i])
	return ok && !r.is("function", i) && (r.bases[r.texts[i]] || strings.HasSuffix(r.texts[i], "ing"))
}

// verbAt reads the verb at i, if it is one, with its particle, wherever that is,
// as what is asked for. It returns how many words it is.
func (r *reader) verbAt(i int) int {
	verb, length, apart := r.longestVerb(i)
	if length == 0 || length == 1 && apart == 0 && r.describes(i) {
		return 0
	}
	a := r.verbs[verb]
	a.verbs = []string{verb}
	if apart > 0 {
		for j := range strings.Count(verb, " ") {
			r.used[apart+j] = true
		}
		if v, ok := r.verb(r.texts[i], r.stems[i]); ok {
			a = a.or(v)
		}
	}
	r.query.action = a
	if length == 1 {
		weight := r.w.verb
		if r.is("light", i) {
			weight = lightWeight
		}
		if a, ok := r.verb(r.texts[i], r.stems[i]); ok && a.known() {
			r.add(word{text: r.texts[i], stem: r.stems[i], weight: weight, verb: true})
		}
		return 1
	}
	for j := i + 1; j < i+length; j++ {
		// Take a picture, info about a file: what is taken counts, too.
		if r.noun(r.texts[j]) && !r.is("function", j) && !r.is("particle", j) {
			r.add(word{text: r.texts[j], stem: r.stems[j], weight: r.w.phraseHead, plural: plural(r.texts[j])})
		}
	}
	if r.is("preposition", i+length-1) {
		r.last = 0
	}
	return length
}

// longestVerb is the verb at i as a term, and how many words stand there;
// apart is where the rest of it is if that is not at once.
func (r *reader) longestVerb(i int) (verb string, length, apart int) {
	most := 0
	if r.imperative(i) {
		verb, length, most = r.stems[i], 1, 1
	}
	for _, p := range r.phrases[r.stems[i]] {
		n, particle := len(p.stems), r.words["particle"][p.stems[1]]
		if _, ok := r.verbs[p.term]; !ok || n < most || n == most && !particle {
			continue
		}
		if i+n <= len(r.stems) && slices.Equal(r.stems[i:i+n], p.stems) {
			verb, length, apart, most = p.term, n, 0, n
			continue
		}
		for at := i + 2; (particle || n > 2) && at <= i+maxGap && at+n-1 <= len(r.stems); at++ {
			if slices.Equal(r.stems[at:at+n-1], p.stems[1:]) {
				verb, length, apart, most = p.term, 1, at, n
				break
			}
		}
	}
	return verb, length, apart
}

// describes reports whether the verb at i is none where it stands: open bugs,
// searches that go on, the log output of a program.
func (r *reader) describes(i int) bool {
	next := i + 1
	if next >= len(r.texts) {
		return false
	}
	if i+2 < len(r.texts) && r.texts[i+2] == "of" && r.noun(r.texts[i]) && r.noun(r.texts[next]) && !plural(r.texts[next]) {
		return true
	}
	return r.is("adjective", i) && !r.is("function", next) && !r.is("article", next) || plural(r.texts[i]) && r.noun(r.texts[i])
}
