package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// texts are the text blocks of a result.
func (m message) texts() []string {
	var texts []string
	for _, block := range m.Result.Content {
		texts = append(texts, block.Text)
	}
	return texts
}

func TestSearchShowsALineForEachToolAndHowManyThereAre(t *testing.T) {
	c := connect(t, newBench(t).Server)
	got := c.call("search_tools", `{"query":"read a file","limit":1}`).texts()
	want := "mcp__files__read(*, path: str) -> Any  # Does it\n\n1 of 2 that match, among 2 tools."
	if len(got) != 2 || got[0] != want || !strings.Contains(got[1], "crm: down") {
		t.Errorf("got %q, want %q and the servers that are down", got, want)
	}
	got = c.call("search_tools", `{"query":"nothing","server":"files"}`).texts()
	if want := "None of 1 tools matches; use other words, or list_callable_tools."; len(got) != 1 || got[0] != want {
		t.Errorf("nothing found: got %q, want %q", got, want)
	}
}

func TestASearchOfAnEmptyCatalogueSaysWhy(t *testing.T) {
	b := newBench(t)
	b.servers.names = nil
	got := connect(t, b.Server).call("search_tools", `{"query":"read"}`).texts()
	if len(got) != 2 || got[0] != "No tools are callable at present." || !strings.Contains(got[1], "wiki: still connecting") {
		t.Errorf("got %q", got)
	}
}

func TestAListMayBeOfOneServerAndShowSignatures(t *testing.T) {
	c := connect(t, newBench(t).Server)
	for arguments, want := range map[string]string{
		`{"server":"github"}`:                       `["mcp__github__list_issues"]`,
		`{"server":"github","detail":"names"}`:      `["mcp__github__list_issues"]`,
		`{"server":"github","detail":"signatures"}`: "mcp__github__list_issues(*, path: str) -> Any  # Does it\n",
	} {
		if got := c.call("list_callable_tools", arguments).texts(); len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %q, want %q", arguments, got, want)
		}
	}
}

func TestALongListIsCutAndSaysHowToGoOn(t *testing.T) {
	b := newBench(t)
	b.servers.names = nil
	for n := range 5000 {
		b.servers.names = append(b.servers.names, fmt.Sprintf("mcp__big__tool_%04d", n))
	}
	c := connect(t, New(b.servers, b.runs, Options{MaxOutputBytes: 10_000}))
	text := c.call("list_callable_tools", ``).texts()[0]
	list, note, _ := strings.Cut(text, "\n")
	var names []string
	if err := json.Unmarshal([]byte(list), &names); err != nil || len(text) > 10_100 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if want := fmt.Sprintf("%d of 5000 names; find the others with search_tools, or ask for one server", len(names)); note != want || len(names) < 400 {
		t.Errorf("got %q, want %q", note, want)
	}
	text = c.call("list_callable_tools", `{"detail":"signatures"}`).texts()[0]
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if want := fmt.Sprintf("… and %d more; find them with search_tools, or ask for one server", 5000-len(lines)+1); lines[len(lines)-1] != want || len(text) > 10_100 {
		t.Errorf("%d bytes, got %q, want %q", len(text), lines[len(lines)-1], want)
	}
}

func TestInspectDescribesSeveralToolsAtOnce(t *testing.T) {
	c := connect(t, newBench(t).Server)
	m := c.call("inspect_tool", `{"tool_name":["mcp__github__list_issues","list_isues","mcp__github__list_issues"]}`)
	var got []struct{ Name string }
	if err := json.Unmarshal([]byte(m.texts()[0]), &got); err != nil || len(got) != 2 || got[1].Name != "mcp__github__list_issues" {
		t.Errorf("got %q, %v", m.texts()[0], err)
	}
	if m.Result.IsError || len(m.texts()) != 2 || !strings.Contains(m.texts()[1], `unknown tool "list_isues"`) {
		t.Errorf("the unknown one is not named: %q", m.texts())
	}
	m = c.call("inspect_tool", `{"tool_name":["mcp__github__list_issues"],"format":"python"}`)
	if want := "async def list_issues() -> object: ...\n"; m.texts()[0] != want {
		t.Errorf("got %q, want %q", m.texts()[0], want)
	}
}

func TestALineIsShortWhateverTheSignature(t *testing.T) {
	for _, test := range []struct {
		name string
		tool tool.Listed
		want string
	}{
		{"without a summary", tool.Listed{Name: "a", Signature: "a()"}, "a()\n"},
		{"many parameters", tool.Listed{Name: "a", Signature: "a(" + strings.Repeat("b: int, ", 100) + ") -> c", Summary: "Does"}, "a(" + strings.Repeat("b: int, ", 39) + "...)  # Does\n"},
		{"no parameters to cut", tool.Listed{Name: "a", Signature: strings.Repeat("é", 200)}, strings.Repeat("é", 160) + "...)\n"},
	} {
		if got := line(test.tool); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
