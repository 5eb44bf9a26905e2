package search

import (
	"slices"
	"strings"
	"testing"
)

func TestEditDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b        string
		limit, want int
	}{
		{"", "", 2, 0}, {"abc", "abc", 0, 0}, {"abc", "abd", 2, 1}, {"abc", "ab", 2, 1}, {"ab", "abc", 2, 1},
		{"kitten", "sitting", 3, 3}, {"kitten", "sitting", 2, 3}, {"abc", "xyz", 2, 3}, {"a", "abcdef", 2, 3},
		{"", "ab", 2, 2}, {"flaw", "lawn", 4, 2}, {"abcdefgh", "hgfedcba", 20, 7},
		{"serach", "search", 1, 1}, {"ab", "ba", 1, 1}, {"xyaz", "xayz", 2, 1}, {"ca", "abc", 3, 3},
		{strings.Repeat("a", 64) + "b", strings.Repeat("a", 64) + "c", 1, 0},
	} {
		if got := Distance(tt.a, tt.b, tt.limit); got != tt.want {
			t.Errorf("Distance(%q, %q, %d) = %d, want %d", tt.a, tt.b, tt.limit, got, tt.want)
		}
		if got := Distance(tt.b, tt.a, tt.limit); got != tt.want {
			t.Errorf("Distance(%q, %q, %d) = %d, want %d", tt.b, tt.a, tt.limit, got, tt.want)
		}
	}
}

func TestNamesAreSplitIntoTheirWords(t *testing.T) {
	for text, want := range map[string]string{
		"list_issues":           "list issues",
		"listOpenIssues":        "list open issues",
		"HTTPServer":            "http server",
		"parse-JSON":            "parse json",
		"getURLs":               "get urls",
		"take2Screenshots":      "take 2 screenshots",
		"API-post-page v2.1":    "api post page v 2 1",
		"Überprüfe die Straße":  "überprüfe die straße",
		"列出文件":                  "列出文件",
		"\x00\x1b[31m a\xffb":   "31 m a b",
		"":                      "",
		strings.Repeat("x", 99): strings.Repeat("x", maxTerm),
		strings.Repeat("é", 99): strings.Repeat("é", maxTerm/2),
	} {
		if got := strings.Join(split(text), " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// catalogue is a part with the tools, each written as "name: description".
func catalogue(server string, tools ...string) *Part {
	var documents []Document
	for _, t := range tools {
		name, description, _ := strings.Cut(t, ": ")
		documents = append(documents, Document{
			Callable: "mcp__" + server + "__" + strings.ReplaceAll(name, "-", "_"), Server: server, Name: name, Description: description,
		})
	}
	return NewPart(documents)
}

func search(parts []*Part, query string) []string {
	hits, _ := Search(parts, query, 3)
	var names []string
	for _, h := range hits {
		names = append(names, parts[h.Part].documents[h.Document].callable)
	}
	return names
}

func TestWhatIsFoundFirst(t *testing.T) {
	parts := []*Part{
		catalogue("tracker",
			"list_issues: List the issues of a project.",
			"create-issue: Open an issue.",
			"createIssueComment: Comment on an issue.",
			"delete_issue: Delete an issue for good."),
		catalogue("files",
			"read: Read a text file.",
			"write: Write a text file.",
			"make_directory: Create a directory.",
			"heapsnapshot: Take a snapshot of memory."),
		catalogue("chat", "post_message: Send a text to a channel.", "list: List channels."),
	}
	for _, tt := range []struct{ name, query, want string }{
		{"a callable name", "mcp__tracker__create_issue", "mcp__tracker__create_issue"},
		{"an original name", "create-issue", "mcp__tracker__create_issue"},
		{"a name in another spelling", "CreateIssue", "mcp__tracker__create_issue"},
		{"a short name with its server", "files.read", "mcp__files__read"},
		{"a short name", "list", "mcp__chat__list"},
		{"words of a name", "issue comment create", "mcp__tracker__createIssueComment"},
		{"a plural", "issues", "mcp__tracker__list_issues"},
		{"another form of a word", "deleting an issue", "mcp__tracker__delete_issue"},
		{"another verb", "remove an issue", "mcp__tracker__delete_issue"},
		{"another noun", "new folder", "mcp__files__make_directory"},
		{"a question", "which bugs are there", "mcp__tracker__list_issues"},
		{"a beginning", "direct", "mcp__files__make_directory"},
		{"a typing error", "dierctory", "mcp__files__make_directory"},
		{"two typing errors", "isues of a porject", "mcp__tracker__list_issues"},
		{"words written apart", "heap snapshot", "mcp__files__heapsnapshot"},
		{"a hyphen", "heap-snapshot", "mcp__files__heapsnapshot"},
		{"a verb with its particle", "get rid of an issue", "mcp__tracker__delete_issue"},
		{"a particle that stands apart", "throw that bug out", "mcp__tracker__delete_issue"},
		{"a phrase for a thing", "set up a subfolder", "mcp__files__make_directory"},
		{"what the speaker wants to do", "how do I add a remark to a ticket", "mcp__tracker__createIssueComment"},
		{"a verb with nothing known after it", "erase qqqqqq", "mcp__tracker__delete_issue"},
		{"a server's name", "list in chat", "mcp__chat__list"},
		{"only words that mean little", "is it for", "mcp__tracker__delete_issue"},
		{"nothing", " \t\x00", ""},
		{"nonsense", "qqqqqq", ""},
	} {
		got := search(parts, tt.query)
		if tt.want == "" && len(got) == 0 {
			continue
		}
		if len(got) == 0 || got[0] != tt.want {
			t.Errorf("%s, %q: got %q, want %s", tt.name, tt.query, got, tt.want)
		}
	}
}

func TestTheSameQueryGivesTheSameAnswer(t *testing.T) {
	parts := []*Part{catalogue("b", "x: same", "y: same"), catalogue("a", "z: same", "x: same")}
	want := []string{"mcp__a__x", "mcp__a__z", "mcp__b__x"}
	for range 20 {
		if got := search(parts, "same"); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if hits, total := Search(parts, "same", 1); len(hits) != 1 || total != 4 {
		t.Errorf("%d hits of %d", len(hits), total)
	}
	if hits, total := Search(nil, "same", 5); len(hits) != 0 || total != 0 {
		t.Errorf("no parts: %d hits of %d", len(hits), total)
	}
}

func TestHostileTextsCostLittle(t *testing.T) {
	huge := strings.Repeat("word \x00\u202e\xff ", 1<<20)
	d := Document{Callable: "mcp__a__b", Server: huge, Name: huge, Title: huge, Description: huge}
	for range 1000 {
		d.Parameters = append(d.Parameters, Parameter{Name: huge, Description: huge})
	}
	p := NewPart([]Document{d, {}, {Callable: "mcp__a__c", Description: strings.Repeat("x", 1<<20)}})
	if len(p.terms) > 1000 {
		t.Errorf("%d terms", len(p.terms))
	}
	if got := search([]*Part{p}, "word"); len(got) != 1 || got[0] != "mcp__a__b" {
		t.Errorf("got %q", got)
	}
	for _, query := range []string{huge, strings.Repeat("a", 1<<20), strings.Repeat("-", 1<<20), "\xff\xfe", strings.Repeat("word ", 1<<16)} {
		if q := readQuery(query, chosen()); len(q.words) > maxWords+1 {
			t.Errorf("%.20q: %d words", query, len(q.words))
		}
		search([]*Part{p}, query)
	}
}

func FuzzSearch(f *testing.F) {
	for _, seed := range []string{"make a new folder", "mcp__a__b", "\xff", "to-do", "HTTPServer2", "列出文件", "a"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		parts := []*Part{catalogue("a", text, "list: lists"), NewPart([]Document{{Callable: "x", Server: text, Title: text, Parameters: []Parameter{{text, text}}}})}
		hits, total := Search(parts, query, 2)
		if len(hits) > 2 || total > 3 {
			t.Errorf("%d hits of %d", len(hits), total)
		}
		for _, h := range hits {
			if !(h.Score > 0) {
				t.Errorf("score %v", h.Score)
			}
		}
	})
}
