package search

import "strings"

// cautions begin or are in a sentence that says what a tool is not for, or
// speaks of other tools.
var cautions = []string{
	"do not use", "don't use", "not for ", "not be used", "instead of", "use this instead", "similar to", "excludes",
	"rather than", "important:", "warning:", "note:", "caution:", "deprecated", "must call", "must use", "unless ",
	"this command can be referenced", "error responses", "never ", "cannot ", "can't ", "better than", "will fail",
}

// describe splits a description into its first sentence or line that tells what
// the tool is for, and all others that do.
func describe(name, text string) (summary, details string) {
	own := key(name)
	var rest strings.Builder
	for sentence := range sentences(text) {
		switch {
		case warns(sentence) || key(sentence) == own || key(sentence) == "":
		case summary == "":
			summary = sentence
		default:
			rest.WriteString(sentence)
		}
	}
	if summary == "" {
		for sentence := range sentences(text) {
			return sentence, text[len(sentence):]
		}
	}
	return summary, rest.String()
}

// warns reports whether a sentence is a caution.
func warns(sentence string) bool {
	lower := strings.ToLower(sentence)
	for _, c := range cautions {
		if strings.Contains(lower, c) {
			return true
		}
	}
	return false
}

// sentences visits the sentences and lines of a text, with what ends them.
func sentences(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for text = strings.TrimSpace(text); text != ""; {
			end := len(text)
			for _, mark := range []string{". ", ".\n", "\n"} {
				if i := strings.Index(text[:end], mark); i >= 0 {
					end = i + len(mark)
				}
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

// outdated reports whether a tool says that it is deprecated.
func outdated(d Document) bool {
	said := strings.ToLower(head(d.Title, maxTitle) + " " + head(d.Description, maxTitle))
	return strings.Contains(said, "deprecated")
}
