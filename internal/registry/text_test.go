package registry

import (
	"strings"
	"testing"
)

func TestFirstSentence(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "",
		"Reads a file.":                          "Reads a file",
		"Reads a file. Then more.":               "Reads a file",
		"\n\n  Reads a\tfile\nas text. More":     "Reads a file as text",
		"Retrieve a user\nError Responses:\n400": "Retrieve a user",
		"Heading\n\nand more":                    "Heading",
		"Takes files, e.g. a.txt. Or more":       "Takes files, e.g. a.txt",
		"Really? Yes":                            "Really?",
		"Writes v1.2 files (and others.) More":   "Writes v1.2 files (and others.)",
		"red\x1b[31m\u202etext\xff":              "red[31mtext",
		strings.Repeat("long ", 50):              strings.Repeat("long ", 31) + "long…",
		strings.Repeat("é", 1<<20):               strings.Repeat("é", 159) + "…",
	} {
		if got := firstSentence(in, 160); got != want {
			t.Errorf("%.60q: got %q, want %q", in, got, want)
		}
	}
}
