package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

func TestTheTableDescribesToolsAsTheChannelWantsThem(t *testing.T) {
	r := newRegistry(t, Options{},
		newFake("b", downstream.Tool{
			Name: "find", Description: "\n  Finds \"things\" \u00e9.\nMore.", ReadOnly: hint(yes),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"zeta":{"type":"string"},"alpha":{},"in/side":{}},"required":["alpha","zeta","ghost"]}`),
		}),
		newFake("a-b", downstream.Tool{Name: "import", Title: "Import", InputSchema: nil}),
		newConnecting("c"),
	)
	want := `[{"n":"mcp__a_b__import_","s":"a_b","t":"import_","p":[],"d":"Import"},` +
		`{"n":"mcp__b__find","s":"b","t":"find","p":["zeta","alpha","in/side"],"r":["zeta","alpha"],"c":true,"d":"Finds \"things\" é."}]`
	table := r.Prepare(t.Context(), "print(1)")
	if string(table.Wire) != want {
		t.Errorf("got\n%s\nwant\n%s", table.Wire, want)
	}
	for _, name := range []string{"mcp__b__find", tool.ListResources, tool.ReadResource, tool.ListPrompts, tool.GetPrompt} {
		if !table.ReadOnly[name] {
			t.Errorf("%s is not read-only", name)
		}
	}
	if len(table.ReadOnly) != 5 {
		t.Errorf("read-only: %v", table.ReadOnly)
	}
	empty := newRegistry(t, Options{}).Prepare(t.Context(), "")
	if string(empty.Wire) != "[]" {
		t.Errorf("the empty table is %s", empty.Wire)
	}
}

func TestWhenASchemaAllowsNoOtherParameters(t *testing.T) {
	for schema, want := range map[string]bool{
		``:                            no,
		`true`:                        no,
		`{"type":"object"}`:           no,
		`{"properties":{}}`:           no,
		`{"properties":{"a":{}}}`:     yes,
		`{"additionalProperties":{}}`: no,
		`{"properties":{"a":{}},"additionalProperties":true}`:                            no,
		`{"properties":{"a":{}},"additionalProperties":false}`:                           yes,
		`{"additionalProperties":false}`:                                                 yes,
		`{"properties":{"a":{}},"patternProperties":{"^x":{}}}`:                          no,
		`{"patternProperties":{"^x":{}},"additionalProperties":false}`:                   no,
		`{"properties":{"a":{}},"anyOf":[{}]}`:                                           no,
		`{"anyOf":[{}],"properties":{"a":{}},"additionalProperties":false}`:              yes,
		`{"properties":{"a":{}},"$ref":"#/$defs/x"}`:                                     no,
		`{"properties":{"a":{}},"unevaluatedProperties":true}`:                           no,
		`{"properties":{"a":{}},"oneOf":[]}`:                                             no,
		`{"properties":{"a":{}},"allOf":[]}`:                                             no,
		`{"properties":{"a":{"additionalProperties":true,"anyOf":[]}},"required":["a"]}`: yes,
	} {
		if got := parseInput([]byte(schema)).closed; got != want {
			t.Errorf("%s: closed is %v", schema, got)
		}
	}
}

func TestWhatLiteralsAreHeldAgainst(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"integer","minimum":1}`:                 `"integer"`,
		`{"type":"number"}`:                              `"number"`,
		`{"type":"string","enum":["a","b"]}`:             `["a","b"]`,
		`{"enum":["a"]}`:                                 `["a"]`,
		`{"enum":["a",null]}`:                            ``,
		`{"enum":["a",1]}`:                               ``,
		`{"enum":[]}`:                                    ``,
		`{"enum":["` + strings.Repeat("x", 2000) + `"]}`: ``,
		`{"type":["integer","null"]}`:                    ``,
		`{"type":"integer","nullable":true}`:             ``,
		`{"type":"integer","anyOf":[{}]}`:                ``,
		`{"type":"boolean"}`:                             ``,
		`{"type":"string"}`:                              ``,
		`{"type":"array","items":{"enum":["a"]}}`:        ``,
		`true`: ``,
		`{"anyOf":[{"type":"integer"},{"type":"string"}]}`:  ``,
		`{"type":"string","properties":{"type":"integer"}}`: ``,
	} {
		closed := `{"properties":{"p":` + schema + `},"additionalProperties":false}`
		if got := string(parseInput([]byte(closed)).params[0].strict); got != want {
			t.Errorf("%s: got %s, want %s", schema, got, want)
		}
		open := `{"properties":{"p":` + schema + `}}`
		if got := parseInput([]byte(open)).params[0].strict; got != nil {
			t.Errorf("%s in a schema that is not closed: got %s", schema, got)
		}
	}
	e := &entry{Tool: &downstream.Tool{}, member: &member{part: "s"}, name: "mcp__s__t", part: "t",
		input: parseInput([]byte(`{"properties":{"a":{"type":"integer"},"b":{},"c":{"enum":["x"]}},"additionalProperties":false}`))}
	if got, want := string(e.wireRow()), `{"n":"mcp__s__t","s":"s","t":"t","p":["a","b","c"],"c":true,"y":{"a":"integer","c":["x"]}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestADescriptionIsOneShortLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"\n\n  first \nsecond":   "first",
		strings.Repeat("é", 160): strings.Repeat("é", 160),
		strings.Repeat("é", 161): strings.Repeat("é", 159) + "…",
	} {
		if got := firstLine(in, 160); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

func TestInspectShowsWhatTheServerWrote(t *testing.T) {
	in := json.RawMessage(`{ "type":"object", "properties": {"z":{}, "a":{"maximum":1e400}}, "x-unknown": "<&>" }`)
	out := json.RawMessage(`{"type":["object","null"]}`)
	r := newRegistry(t, Options{}, newFake("my-srv",
		downstream.Tool{Name: "one", Title: "One", Description: "Does <one> thing.\nWell.", InputSchema: in, OutputSchema: out, ReadOnly: hint(yes), OpenWorld: hint(no)},
		downstream.Tool{Name: "two"}))
	got, err := r.Inspect("my-srv.one")
	want := `{"name":"mcp__my_srv__one","title":"One","description":"Does <one> thing.\nWell.","inputSchema":` + string(in) + `,"outputSchema":` + string(out) +
		`,"original":{"server":"my-srv","tool":"one"},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`
	if err != nil || string(got) != want {
		t.Errorf("got\n%s, %v\nwant\n%s", got, err, want)
	}
	got, err = r.Inspect("mcp__my_srv__two")
	want = `{"name":"mcp__my_srv__two","description":"","inputSchema":null,"outputSchema":null,"note":"` + noOutputSchema + `","original":{"server":"my-srv","tool":"two"}}`
	if err != nil || string(got) != want {
		t.Errorf("got\n%s, %v\nwant\n%s", got, err, want)
	}
}

func TestOwnFunctions(t *testing.T) {
	a := newFake("a", named("x", "y")...)
	down := newConnecting("d")
	down.down(errors.New("exit status 1\nand more"))
	r := newRegistry(t, Options{Block: []string{"*__y"}}, a, newConnecting("c"), down)
	for _, tt := range []struct{ name, arguments, want string }{
		{tool.ListCallableTools, ``, `["mcp__a__x"]`},
		{tool.ServerStatus, `{}`, `{"a":{"connected":true,"tools":1,"error":null},"c":{"connected":false,"tools":0,"error":"connecting"},"d":{"connected":false,"tools":0,"error":"exit status 1"}}`},
		{tool.InspectTool, `{"tool_name":"a.x"}`, `{"name":"mcp__a__x","description":"","inputSchema":{"type":"object"},"outputSchema":null,"note":"` + noOutputSchema + `","original":{"server":"a","tool":"x"}}`},
	} {
		got, err := r.CallTool(t.Context(), tt.name, json.RawMessage(tt.arguments))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v\nwant %s", tt.name, got, err, tt.want)
		}
	}
	for arguments, kind := range map[string]tool.Kind{`{}`: tool.KindArguments, `{"tool_name":3}`: tool.KindArguments, `{"tool_name":"mcp__a__y"}`: tool.KindUnknown, `{"tool_name":"d.x"}`: tool.KindConnection} {
		_, err := r.CallTool(t.Context(), tool.InspectTool, json.RawMessage(arguments))
		if te := toolError(t, err); te.Kind != kind {
			t.Errorf("inspect_tool(%s): %+v", arguments, te)
		}
	}
	want := []tool.Server{{Name: "a", Connected: true, Tools: 1}, {Name: "c", Connecting: true}, {Name: "d", Error: "exit status 1"}}
	if got := r.Servers(); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestTheCatalogueFollowsItsServers(t *testing.T) {
	a, b := newFake("a", named("x")...), newConnecting("b")
	r := newRegistry(t, Options{}, a, b)
	changes := 0
	r.OnChange(func() { changes++ })
	b.up(named("y", "z")...)
	if got := r.Names(); !slices.Equal(got, []string{"mcp__a__x", "mcp__b__y", "mcp__b__z"}) {
		t.Errorf("after connecting: %q", got)
	}
	before := r.current.Load().views[0].tools
	b.up(named("y")...)
	if got := r.Names(); !slices.Equal(got, []string{"mcp__a__x", "mcp__b__y"}) || changes != 2 {
		t.Errorf("after list_changed: %q, %d changes", got, changes)
	}
	if r.current.Load().views[0].tools != before {
		t.Error("the other server's tools were built again")
	}
	a.down(errors.New("gone"))
	a.down(errors.New("gone"))
	if got := r.Names(); !slices.Equal(got, []string{"mcp__b__y"}) || changes != 3 {
		t.Errorf("after a death: %q, %d changes", got, changes)
	}
	a.up(named("x")...)
	if got := r.Names(); len(got) != 2 || changes != 4 {
		t.Errorf("after coming back: %q, %d changes", got, changes)
	}
}

func TestAPatternThatMatchesNothingIsReportedOnceItIsCertain(t *testing.T) {
	var log bytes.Buffer
	a, b := newFake("github", named("list_issues")...), newConnecting("files")
	opts := Options{Allow: []string{"mcp__github__*", "mcp__github__list_isues", "mcp__files__read"}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	newRegistry(t, opts, a, b)
	if log.Len() > 0 {
		t.Errorf("too early: %s", log.String())
	}
	b.down(errors.New("no such file"))
	if n := strings.Count(log.String(), "matches no tool"); n != 1 || !strings.Contains(log.String(), "pattern=mcp__github__list_isues nearest=[mcp__github__list_issues]") {
		t.Errorf("with a server down: %s", log.String())
	}
	b.up(named("write")...)
	a.up(named("other")...)
	if n := strings.Count(log.String(), "matches no tool"); n != 2 || !strings.Contains(log.String(), "pattern=mcp__files__read") {
		t.Errorf("with all connected: %s", log.String())
	}
}

func TestCallsReadersAndChangesAtOnce(t *testing.T) {
	servers := make([]*fakeServer, 4)
	for i := range servers {
		servers[i] = newFake(fmt.Sprintf("s%d", i), append(callTools(), named("a-b", "a_b")...)...).answers(`{"structuredContent":{"n":1},"content":[]}`)
	}
	r := newRegistry(t, Options{Block: []string{"*__send"}, MaxResultBytes: 1000}, servers...)
	r.OnChange(func() { _ = r.Names() })
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() {
			for n := range 50 {
				if i%2 == 0 {
					s.down(errors.New("gone"))
				}
				s.up(append(callTools(), named("a-b", fmt.Sprint("t", n))...)...)
			}
		})
	}
	for g := range 4 {
		wg.Go(func() {
			for n := range 200 {
				name := fmt.Sprintf("mcp__s%d__typed", (g+n)%len(servers))
				value, err := r.CallTool(context.Background(), name, nil)
				switch {
				case err == nil && string(value) != `{"n":1}`:
					t.Errorf("got %s", value)
				case err != nil && toolError(t, err).Kind != tool.KindConnection:
					t.Error(err)
				}
				table := r.Prepare(context.Background(), "x()")
				var rows []struct{ N string }
				if err := json.Unmarshal(table.Wire, &rows); err != nil {
					t.Error(err)
				}
				for _, row := range rows {
					if strings.HasSuffix(row.N, "__send") {
						t.Errorf("blocked tool %s is in the table", row.N)
					}
				}
				_, _ = r.Inspect("s1.read")
				_, _ = r.CallTool(context.Background(), tool.ServerStatus, nil)
			}
		})
	}
	wg.Wait()
	if got := len(r.Names()); got != 4*5 {
		t.Errorf("%d tools in the end", got)
	}
}

func BenchmarkPrepareWithFiveThousandTools(b *testing.B) {
	r := newRegistry(b, Options{}, newFake("big", catalogueOf(5000)...))
	source := strings.Repeat("print(await mcp__big__get_item_1(id=1))\n", 100)
	for b.Loop() {
		r.Prepare(b.Context(), source)
	}
}

func BenchmarkRebuildOfFiveThousandToolsWhenTheirServerChanges(b *testing.B) {
	s := newFake("big", catalogueOf(5000)...)
	r := newRegistry(b, Options{}, s)
	lists := [2][]downstream.Tool{catalogueOf(5000), catalogueOf(5000)}
	n := 0
	for b.Loop() {
		n++
		s.up(lists[n%2]...)
	}
	if len(r.Names()) != 5000 {
		b.Fatal(len(r.Names()))
	}
}

func BenchmarkRebuildOfFiveThousandToolsWhenAnotherServerChanges(b *testing.B) {
	other := newFake("other", named("x")...)
	r := newRegistry(b, Options{}, newFake("big", catalogueOf(5000)...), other)
	for b.Loop() {
		other.up(named("x")...)
	}
	if len(r.Names()) != 5001 {
		b.Fatal(len(r.Names()))
	}
}

func BenchmarkNearestOfFiveThousand(b *testing.B) {
	r := newRegistry(b, Options{}, newFake("big", catalogueOf(5000)...))
	for b.Loop() {
		_, _ = r.Inspect("mcp__big__fetch_the_item_with_number")
	}
}

func BenchmarkCall(b *testing.B) {
	s := newFake("s", callTools()...).answers(`{"structuredContent":{"n":1},"content":[{"type":"text","text":"{\"n\":1}"}]}`)
	r := newRegistry(b, Options{MaxResultBytes: 1 << 20}, s)
	arguments := json.RawMessage(`{"path":"/x"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.CallTool(b.Context(), "mcp__s__typed", arguments); err != nil {
			b.Fatal(err)
		}
	}
}
