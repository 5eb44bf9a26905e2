package registry

import (
	"fmt"
	"strings"
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
