package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// call sends tools/call with the raw arguments, which may be empty.
func (c *client) call(name, arguments string) message {
	c.t.Helper()
	if arguments != "" {
		arguments = `,"arguments":` + arguments
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s"%s}}`, name, arguments)
	return c.message()
}

func TestDefinitionsStaySmallHoweverLargeTheCatalogue(t *testing.T) {
	sizes := make(map[int]bool)
	for _, tools := range []int{0, 5000} {
		b := newBench(t)
		for n := range tools {
			b.servers.names = append(b.servers.names, fmt.Sprintf("mcp__big__tool_%d", n))
		}
		c := connect(t, New(b.servers, b.runs, Options{}))
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		size := len(c.line())
		sizes[size] = true
		// Tokens of English and JSON have more than 3.5 bytes each.
		if tokens := float64(size) / 3.5; tokens > 1500 {
			t.Errorf("tools/list takes %d bytes, up to %.0f tokens", size, tokens)
		}
		t.Logf("tools/list: %d bytes", size)
	}
	if len(sizes) != 1 {
		t.Errorf("the size of tools/list depends on the catalogue: %v", sizes)
	}
}

func TestInstructionsNameTheServersAndStayBounded(t *testing.T) {
	for _, servers := range []int{0, 1, maxNamedServers, 500} {
		var configured []tool.Server
		for n := range servers {
			configured = append(configured, tool.Server{Name: fmt.Sprintf("s%03d%s", n, strings.Repeat("é", 60))})
		}
		got := instructions(configured)
		if len(got) > 2000 {
			t.Errorf("%d servers: %d bytes", servers, len(got))
		}
		switch {
		case servers == 0 && !strings.Contains(got, "No servers are configured"):
			t.Errorf("no servers: %q", got)
		case servers > 0 && !strings.Contains(got, "s000"):
			t.Errorf("%d servers: the first is not named: %q", servers, got)
		case servers > maxNamedServers && !strings.Contains(got, "and 476 more"):
			t.Errorf("%d servers: the rest is not counted: %q", servers, got)
		}
	}
}

func TestArgumentsOfTheWrongTypeAreAnsweredWithTheFix(t *testing.T) {
	tests := []struct{ name, tool, arguments, says string }{
		{"no arguments where code is needed", "execute_program", ``, `"code" is missing; pass the Python program, for example {"code": "print(1)"}`},
		{"null arguments", "execute_program", `null`, `"code" is missing`},
		{"an array", "execute_program", `["print(1)"]`, "arguments must be a JSON object, not an array"},
		{"a string", "inspect_tool", `"mcp__a__b"`, "arguments must be a JSON object, not a string"},
		{"a number as code", "execute_program", `{"code":1}`, `"code" must be a string, not a number`},
		{"null as code", "execute_program", `{"code":null}`, `"code" must be a string, not null`},
		{"empty code", "execute_program", `{"code":" \n"}`, `"code" is empty`},
		{"a string as time", "execute_program", `{"code":"print hi","timeout_seconds":"10"}`, `"timeout_seconds" must be a number of seconds, not a string`},
		{"a negative time", "execute_program", `{"code":"print hi","timeout_seconds":-1}`, `"timeout_seconds" must be above 0, not -1`},
		{"no time at all", "execute_program", `{"code":"print hi","timeout_seconds":0}`, `"timeout_seconds" must be above 0, not 0`},
		{"no tool name", "inspect_tool", `{}`, `"tool_name" is missing; pass a name from search_tools or list_callable_tools`},
		{"an object as tool name", "inspect_tool", `{"tool_name":{}}`, `"tool_name" must be a string, not an object`},
		{"numbers as tool names", "inspect_tool", `{"tool_name":[1]}`, `"tool_name" must be a string or an array of strings`},
		{"no tool names", "inspect_tool", `{"tool_name":[]}`, `"tool_name" is empty`},
		{"too many tool names", "inspect_tool", `{"tool_name":["x"` + strings.Repeat(`,"x"`, 50) + `]}`, `"tool_name" holds 51 names; pass at most 50`},
		{"another format", "inspect_tool", `{"tool_name":"x","format":"yaml"}`, `"format" must be json or python, not "yaml"`},
		{"a number as format", "inspect_tool", `{"tool_name":"x","format":1}`, `"format" must be a string, not a number`},
		{"only unknown tools", "inspect_tool", `{"tool_name":["list_isues","x"]}`, "nearest: mcp__github__list_issues"},
		{"no query", "search_tools", `{}`, `"query" is missing; pass what the tool should do`},
		{"a long query", "search_tools", `{"query":"` + strings.Repeat("x", 1001) + `"}`, `"query" has 1001 bytes`},
		{"a limit of none", "search_tools", `{"query":"x","limit":0}`, `"limit" must be 1 or more, not 0; pass 1 to 50`},
		{"a string as limit", "search_tools", `{"query":"x","limit":"5"}`, `"limit" must be a number, not a string`},
		{"an array as server", "search_tools", `{"query":"x","server":[]}`, `"server" must be a string, not an array`},
		{"an unknown server", "search_tools", `{"query":"x","server":"nope"}`, `search_tools: nope: no such server`},
		{"an unknown server", "list_callable_tools", `{"server":"nope"}`, `list_callable_tools: nope: no such server`},
		{"another detail", "list_callable_tools", `{"detail":"all"}`, `"detail" must be names or signatures, not "all"`},
		{"an unknown tool", "inspect_tool", `{"tool_name":"list_isues"}`, "nearest: mcp__github__list_issues"},
		{"an array for a tool without arguments", "list_callable_tools", `[]`, "must be a JSON object, not an array"},
	}
	c := connect(t, newBench(t).Server)
	for _, test := range tests {
		m := c.call(test.tool, test.arguments)
		if !m.Result.IsError || !strings.Contains(m.text(), test.says) {
			t.Errorf("%s: isError %v, %q; want …%s…", test.name, m.Result.IsError, m.text(), test.says)
		}
	}
}

func TestArgumentsThatAreFineAreTaken(t *testing.T) {
	c := connect(t, newBench(t).Server)
	for _, test := range []struct{ tool, arguments string }{
		{"list_callable_tools", ``},
		{"list_callable_tools", `null`},
		{"list_callable_tools", `{}`},
		{"list_callable_tools", `{"unused":1}`},
		{"execute_program", `{"code":"print hi","timeout_seconds":null}`},
		{"execute_program", `{"code":"print hi","timeout_seconds":0.5e1}`},
		{"execute_program", `{"code":"print hi","timeout_seconds":1e300}`},
		{"execute_program", `{"code":"print hi","explanation":"says hi"}`},
		{"inspect_tool", `{"tool_name":"mcp__github__list_issues"}`},
		{"inspect_tool", `{"tool_name":"mcp__github__list_issues","format":null}`},
		{"search_tools", `{"query":"x","limit":null,"server":null}`},
		{"search_tools", `{"query":"x","limit":1e300,"server":""}`},
		{"list_callable_tools", `{"detail":"","server":"github"}`},
	} {
		if m := c.call(test.tool, test.arguments); m.Result.IsError || m.Error != nil {
			t.Errorf("%s %s: %q %+v", test.tool, test.arguments, m.text(), m.Error)
		}
	}
}

func TestTimeoutOfTheRequestEndsTheProgram(t *testing.T) {
	c := connect(t, newBench(t).Server)
	m := c.call("execute_program", `{"code":"print started\nwait","timeout_seconds":0.2}`)
	if !m.Result.IsError || !strings.Contains(m.text(), "timed out") {
		t.Errorf("got %q", m.text())
	}
}

func TestListNamesTheServersThatAreMissing(t *testing.T) {
	c := connect(t, newBench(t).Server)
	m := c.call("list_callable_tools", "")
	if got, want := m.text(), `["mcp__files__read","mcp__github__list_issues"]`; got != want {
		t.Errorf("names: got %s, want %s", got, want)
	}
	if len(m.Result.Content) != 2 {
		t.Fatalf("got %d blocks, want 2", len(m.Result.Content))
	}
	note := m.Result.Content[1].Text
	for _, says := range []string{`crm: down: exec: "crm-mcp"`, "wiki: still connecting"} {
		if !strings.Contains(note, says) {
			t.Errorf("the note does not say %q: %q", says, note)
		}
	}
	if strings.Contains(note, "github") {
		t.Errorf("the note names a connected server: %q", note)
	}
}

func TestListHasNoNoteWhenAllServersAreConnected(t *testing.T) {
	b := newBench(t)
	b.servers.names, b.servers.servers = nil, b.servers.servers[:2]
	m := connect(t, b.Server).call("list_callable_tools", "{}")
	if len(m.Result.Content) != 1 || m.text() != "[]" {
		t.Errorf("got %+v", m.Result.Content)
	}
}

func TestNoteOnMissingServersIsBounded(t *testing.T) {
	var servers []tool.Server
	for n := range 1000 {
		servers = append(servers, tool.Server{Name: fmt.Sprintf("s%d", n), Error: strings.Repeat("long reason ", 1000)})
	}
	note := missingServers(servers)
	if len(note) > 20000 || !strings.HasSuffix(note, "and 950 more") {
		t.Errorf("%d bytes ending in %q", len(note), note[max(0, len(note)-40):])
	}
}

func TestStructuredContentFitsTheOutputSchema(t *testing.T) {
	c := connect(t, newBench(t).Server)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var schema any
	for _, definition := range c.message().Result.Tools {
		if definition.Name == "execute_program" {
			if err := json.Unmarshal(definition.OutputSchema, &schema); err != nil {
				t.Fatal(err)
			}
		}
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("output.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("output.json")
	if err != nil {
		t.Fatal(err)
	}
	described := schema.(map[string]any)["properties"].(map[string]any)
	for _, code := range []string{"print hi", `emit {\"n\":1}`, "fail oh no", `call mcp__files__read\nprint x`} {
		m := c.call("execute_program", `{"code":"`+code+`"}`)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(m.Result.StructuredContent)))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", code, err)
		}
		for key := range value.(map[string]any) {
			if _, ok := described[key]; !ok {
				t.Errorf("%s: the schema does not describe %q", code, key)
			}
		}
	}
}
