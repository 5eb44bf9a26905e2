package config

import (
	"slices"
	"strings"
)

// otherWords maps words that other programs use to ours.
var otherWords = map[string]string{
	"type":      "transport",
	"cmd":       "command",
	"arguments": "args",
	"include":   "allow",
	"exclude":   "block",
	"deny":      "block",
	"podman":    "docker",
}

// nearest returns the valid word that was most likely meant, or "".
func nearest(word string, valid []string) string {
	const longest = 64 // nobody mistypes a key into something longer
	if len(word) > longest {
		return ""
	}
	word = strings.ReplaceAll(strings.ToLower(word), "-", "_")
	if other := otherWords[word]; slices.Contains(valid, other) {
		return other
	}
	best, bestDistance := "", min(3, len(word)/2)+1
	for _, candidate := range valid {
		d := distance(word, candidate)
		if d >= bestDistance && best == "" && len(candidate) >= 3 && len(word) >= 3 &&
			(strings.Contains(word, candidate) || strings.Contains(candidate, word)) {
			best = candidate // keeps bestDistance: a close spelling still wins
			continue
		}
		if d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// choices is the end of a message about a word that is not valid: the nearest
// one, or all of them.
func choices(word string, valid []string) string {
	if near := nearest(word, valid); near != "" {
		return "did you mean " + near + "?"
	}
	return "use " + orList(valid)
}

// orList returns "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitution := diagonal
			if a[i] != b[j] {
				substitution++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitution, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
