package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// maxTerm bounds a term, in bytes.
const maxTerm = 40

// stems remembers the stems of words that come again and again.
type stems map[string]string

func (s stems) of(word string) string {
	known, ok := s[word]
	if !ok {
		known = stem(word)
		s[word] = known
	}
	return known
}

// terms are the words of a text, reduced to their stems.
func (s stems) terms(text string) []string {
	words := split(text)
	for i, w := range words {
		words[i] = s.of(w)
	}
	return words
}

// split returns the words of a text in lower case. It splits at everything that
// is no letter or digit, where a lower-case letter meets an upper-case one or
// letters meet digits, and before the last letter of a run of capitals
// (HTTPServer is http, server).
func split(text string) []string {
	var parts []string
	compounds := vocabulary()["compound"]
	start, run, first := 0, 0, 0 // of the word, of its run of letters and digits, and of that run's parts
	end := func(i int) {
		if start < i {
			w := strings.ToLower(text[start:i])
			parts = append(parts, strings.ToValidUTF8(w[:min(len(w), maxTerm)], ""))
		}
		start = i
	}
	finish := func(i int) {
		end(i)
		if len(parts) > first+1 && i-run <= maxTerm {
			if whole := strings.ToLower(text[run:i]); compounds[whole] {
				parts = append(parts[:first], whole)
			}
		}
	}
	var before rune // of the same word
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			finish(i)
			start, run, first = i+size, i+size, len(parts)
		case i > start && border(before, r, text[i+size:]):
			end(i)
		}
		before = r
		i += size
	}
	finish(len(text))
	return parts
}

// border reports whether a word ends between two characters.
func border(before, r rune, after string) bool {
	switch {
	case unicode.IsDigit(r) != unicode.IsDigit(before):
		return true
	case !unicode.IsUpper(r):
		return false
	case unicode.IsLower(before):
		return true
	}
	next, size := utf8.DecodeRuneInString(after)
	if !unicode.IsUpper(before) || !unicode.IsLower(next) {
		return false
	}
	// URLs is one word.
	following, _ := utf8.DecodeRuneInString(after[size:])
	return next != 's' || unicode.IsLower(following)
}

// own are words whose stem would be that of a word with another meaning: each
// is its own stem.
var own = []string{
	"finding", "setting", "meeting", "heading", "building", "recording", "thinking", "logging", "booking", "shipping",
	"billing", "pricing", "performance", "information", "documentation", "organization", "location", "business",
	"production", "important", "data", "media", "feedback", "later",
}

// irregular are forms that no rule brings to their stem.
var irregular = map[string]string{
	"written": "write", "wrote": "write", "sent": "send", "found": "find", "made": "make", "ran": "run", "shut": "shut",
	"thrown": "throw", "taken": "take", "took": "take", "shown": "show", "kept": "keep", "told": "tell", "built": "build",
	"bought": "buy", "paid": "pay", "drawn": "draw", "chosen": "choose", "forgotten": "forget", "children": "child",
	"men": "man", "women": "woman", "indices": "index", "said": "say", "held": "hold", "organisation": "organization",
	"organisations": "organization", "organise": "organize", "got": "get", "began": "begin", "begun": "begin", "broken": "break",
	"brought": "bring", "gave": "give", "given": "give", "lost": "lose", "met": "meet", "seen": "see", "saw": "see",
	"spent": "spend", "went": "go", "people": "person", "hidden": "hide", "heard": "hear", "left": "left", "docs": "documentation",
}

// stem reduces an English word to what its inflections share. What is no
// English is hardly touched.
func stem(word string) string {
	if s, ok := irregular[word]; ok {
		word = s
	}
	if singular := strings.TrimSuffix(word, "s"); slices.Contains(own, singular) {
		return singular
	} else if slices.Contains(own, word) {
		return word
	}
	return english.Stem(word, false)
}

// key is what is left of a name when spelling habits are taken away: issues of
// list-issues, listIssues and "List issues" are the same.
func key(name string) string {
	if len(name) > 3*maxName {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// plural reports whether a word seems to be one.
func plural(word string) bool {
	return len(word) > 3 && !vocabulary()["mass"][word] && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us")
}
