package registry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// tableNames are the callable names in a table.
func tableNames(t *testing.T, wire json.RawMessage) []string {
	t.Helper()
	var rows []struct{ N string }
	if err := json.Unmarshal(wire, &rows); err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.N
	}
	return names
}

func TestOfALargeCatalogueARunGetsWhatItsSourceCanName(t *testing.T) {
	r := newRegistry(t, Options{},
		newFake("big", catalogueOf(300)...),
		newFake("git-hub", named("list-issues", "search", "Ünïcode")...),
		newFake("web", named("search")...))
	const listIssues, bigSearch, webSearch = "mcp__git_hub__list_issues", "mcp__git_hub__search", "mcp__web__search"
	for source, want := range map[string][]string{
		`print(1)`:                                {},
		``:                                        {},
		`await mcp__git_hub__list_issues(q=1)`:    {listIssues},
		`await servers.git_hub.list_issues()`:     {listIssues},
		`await list_issues(); await search()`:     {listIssues, bigSearch, webSearch},
		`f"{await mcp__web__search()}"`:           {webSearch},
		"# perhaps list_issues\n":                 {listIssues},
		`search`:                                  {bigSearch, webSearch},
		`searching(research)`:                     {},
		`getattr(servers, "git_hub")`:             {},
		`list_callable_tools()`:                   {},
		`await mcp__git_hub___n_code()`:           {"mcp__git_hub___n_code"},
		`mcp__big__get_item_7; get_item_7`:        {"mcp__big__get_item_7"},
		`if __name__ == "__main__": search()`:     {bigSearch, webSearch},
		`if '__main__' == __name__: get_item_3`:   {"mcp__big__get_item_3"},
		strings.Repeat("search(get_item_1)\n", 9): {"mcp__big__get_item_1", bigSearch, webSearch},
	} {
		table := r.Prepare(t.Context(), source)
		if got := tableNames(t, table.Wire); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", source, got, want)
		}
		if !slices.Equal(table.Servers, []string{"big", "git_hub", "web"}) || !table.ReadOnly["mcp__big__get_item_0"] {
			t.Errorf("%q: servers %v", source, table.Servers)
		}
	}
	for _, source := range []string{
		`globals()["mcp__" + name]`, `eval(code)`, `import __main__`, `getattr(__main__, x)`, `sys.modules["__main__"]`,
		`f"{locals()}"`, `dir()`, `__main__`,
	} {
		table := r.Prepare(t.Context(), source)
		if got := tableNames(t, table.Wire); len(got) != 304 || table.Servers != nil {
			t.Errorf("%q: got %d tools, servers %v", source, len(got), table.Servers)
		}
	}
}

func TestASmallCatalogueIsSentWhole(t *testing.T) {
	r := newRegistry(t, Options{}, newFake("a", catalogueOf(30)...))
	if table := r.Prepare(t.Context(), "print(1)"); len(tableNames(t, table.Wire)) != 30 || table.Servers != nil {
		t.Errorf("got %s", table.Wire)
	}
}

func TestTheRestOfTheTableIsHadOnRequest(t *testing.T) {
	r := newRegistry(t, Options{Block: []string{"*__y"}}, newFake("b-c", named("x", "y")...), newFake("a", named("z")...), newConnecting("d"))
	for arguments, want := range map[string][]string{
		`{}`:                 {"mcp__a__z", "mcp__b_c__x"},
		`{"server":"b_c"}`:   {"mcp__b_c__x"},
		`{"server":"d"}`:     {},
		`{"server":"nope"}`:  {},
		`{"server":["b_c"]}`: {"mcp__a__z", "mcp__b_c__x"},
	} {
		rows, err := r.CallTool(t.Context(), tool.ToolTable, json.RawMessage(arguments))
		if err != nil {
			t.Fatal(err)
		}
		if got := tableNames(t, rows); !slices.Equal(got, want) {
			t.Errorf("%s: got %v", arguments, got)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	source := strings.Repeat("x = await mcp__big__get_item_7(id=1)\nprint(x)\n", 20)
	for _, n := range []int{10, 5000} {
		r := newRegistry(b, Options{}, newFake("big", catalogueOf(n)...))
		b.Run(fmt.Sprintf("%d tools", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Prepare(b.Context(), source)
			}
		})
	}
}
