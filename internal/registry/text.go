package registry

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShownName bounds a name that a program made up, in messages, in bytes.
const maxShownName = 200

// clip cuts s to at most limit bytes of valid UTF-8 and says how many are
// missing.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d more bytes)", s[:cut], len(s)-cut)
}

// firstLine is the first line of s that is not blank, trimmed, of at most
// limit characters.
func firstLine(s string, limit int) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			if r := []rune(line[:min(len(line), (limit+1)*utf8.UTFMax)]); len(r) > limit {
				return string(r[:limit-1]) + "…"
			}
			return line
		}
	}
	return ""
}

// firstSentence is the first sentence of s, in one line of at most limit
// characters and without its full stop. It ends with its line, unless the next
// one goes on in lower case. Characters that are no text are left out.
func firstSentence(s string, limit int) string {
	// Whoever lists a tool must not pay for a description of megabytes.
	s = s[:min(len(s), 8*limit*utf8.UTFMax)]
	var words []string
	for line := range strings.Lines(s) {
		fields := strings.Fields(strings.Map(printable, line))
		if len(words) > 0 && (len(fields) == 0 || !unicode.IsLower([]rune(fields[0])[0])) {
			break
		}
		if end := slices.IndexFunc(fields, endsSentence); end >= 0 {
			words = append(words, fields[:end+1]...)
			break
		}
		words = append(words, fields...)
	}
	return firstLine(strings.TrimSuffix(strings.Join(words, " "), "."), limit)
}

// printable leaves out what is neither text nor space.
func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case r == utf8.RuneError || !unicode.IsPrint(r):
		return -1
	}
	return r
}

// endsSentence reports whether a sentence ends with the word, which "e.g." and
// other letters with dots do not.
func endsSentence(word string) bool {
	bare := strings.TrimRight(word, `)"'`)
	inner := strings.TrimRight(bare, ".!?")
	return len(inner) < len(bare) &&
		slices.ContainsFunc(strings.Split(inner, "."), func(part string) bool { return len(part) > 1 })
}
