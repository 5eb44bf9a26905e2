package seatbelttest

import (
	"strings"
	"testing"
)

func TestAProfileThatCannotBeJudgedIsRefused(t *testing.T) {
	const head = "(version 1)\n(deny default)\n"
	for name, c := range map[string]struct {
		text        string
		definitions []string
		says        string
	}{
		"nothing is denied":          {"(version 1)\n(allow default)", nil, "does not begin"},
		"empty":                      {"", nil, "does not begin"},
		"a parameter without value":  {head + `(allow file-read* (subpath (param "A")))`, nil, "A is not defined"},
		"a value without parameter":  {head, []string{"A=/a"}, "A is not used"},
		"a value given twice":        {head + `(allow file-read* (subpath (param "A")))`, []string{"A=/a", "A=/b"}, "repeated"},
		"a form of the full Scheme":  {head + `(define a "b")`, nil, "unknown form"},
		"a rule that is not closed":  {head + `(allow signal (target self)`, nil, "not closed"},
		"a string that is not ended": {head + `(allow file-read* (literal "/a))`, nil, "not closed"},
		"a regular expression":       {head + `(allow file-read* (regex #"^/a"))`, nil, "cannot read"},
		"a word outside of rules":    {head + `signal`, nil, "outside of all rules"},
		"a string for an operation":  {head + `(allow "signal")`, nil, "cannot read"},
		"an operation after filters": {head + `(allow signal (target self) signal)`, nil, "cannot read"},
	} {
		if _, err := Read(c.text, c.definitions); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want one that says %q", name, err, c.says)
		}
	}
}

func TestTheLastRuleThatMatchesDecides(t *testing.T) {
	profile, err := Read(`(version 1)
(deny default)
(allow file-read* (subpath "/a") (literal "/b"))
(deny file-read-data (subpath "/a/secret"))
(allow file-read-data (require-all (subpath "/a/secret") (require-any (literal "/a/secret/1") (literal "/a/secret/2"))))
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		operation, path string
		want            bool
	}{
		{"file-read-data", "/a", true},
		{"file-read-data", "/a/x", true},
		{"file-read-data", "/ab", false},
		{"file-read-data", "/b", true},
		{"file-read-data", "/b/x", false},
		{"file-read-data", "/a/secret/0", false},
		{"file-read-metadata", "/a/secret/0", true},
		{"file-read-data", "/a/secret/2", true},
		{"file-write-data", "/a/x", false},
	} {
		got, err := profile.Allows(Attempt{Operation: c.operation, Path: c.path})
		if err != nil || got != c.want {
			t.Errorf("%s of %s: got %v (%v), want %v", c.operation, c.path, got, err, c.want)
		}
	}
	profile.Rules[1].Filters[0].List[0].Atom = "somewhere"
	if _, err := profile.Allows(Attempt{Operation: "file-read-data", Path: "/a"}); err == nil {
		t.Error("an unknown filter was taken to mean something")
	}
}
