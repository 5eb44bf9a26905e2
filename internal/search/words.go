package search

import (
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
)

// maxTerm bounds a term, in bytes.
const maxTerm = 40

// terms splits a text into its words, in lower case and reduced to their stems:
// at everything that is no letter or digit, where a lower-case letter meets an
// upper-case one or letters meet digits, and before the last letter of a run of
// capitals (HTTPServer is http, server).
func terms(text string) []string {
	var found []string
	for _, w := range split(text) {
		found = append(found, stem(w))
	}
	return found
}

// split is terms without stemming.
func split(text string) []string {
	var words []string
	runes := []rune(text)
	start := 0
	end := func(i int) {
		if w := strings.ToLower(string(runes[start:i])); w != "" {
			words = append(words, strings.ToValidUTF8(w[:min(len(w), maxTerm)], ""))
		}
		start = i
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end(i)
			start = i + 1
			continue
		}
		if i == start {
			continue
		}
		before := runes[i-1]
		switch {
		case unicode.IsDigit(r) != unicode.IsDigit(before),
			unicode.IsUpper(r) && unicode.IsLower(before),
			unicode.IsUpper(r) && unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1]) && !pluralEnd(runes[i:]):
			end(i)
		}
	}
	end(len(runes))
	return words
}

// pluralEnd reports whether the runes begin with the end of a plural such as URLs.
func pluralEnd(runes []rune) bool {
	return len(runes) >= 2 && runes[1] == 's' && (len(runes) == 2 || !unicode.IsLower(runes[2]))
}

// stem reduces an English word to what its inflections share. What is no
// English is hardly touched.
func stem(word string) string { return english.Stem(word, false) }

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
	return len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us")
}
