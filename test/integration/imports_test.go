package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clientFile is a file in which another client keeps its servers.
type clientFile struct {
	t    *testing.T
	path string
}

func newClientFile(t *testing.T) *clientFile {
	return &clientFile{t, filepath.Join(t.TempDir(), ".mcp.json")}
}

// put replaces the file, as most programs do.
func (f *clientFile) put(text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path+".new", []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.path+".new", f.path); err != nil {
		f.t.Fatal(err)
	}
}

// servers writes servers that are the test server, each with its variables.
func (f *clientFile) servers(env map[string]map[string]string) {
	f.t.Helper()
	entries := map[string]any{}
	for name, variables := range env {
		entries[name] = map[string]any{"type": "stdio", "command": testServer, "args": []string{}, "env": variables}
	}
	text, err := json.MarshalIndent(map[string]any{"mcpServers": entries}, "", "  ")
	if err != nil {
		f.t.Fatal(err)
	}
	f.put(string(text))
}

func (c *client) tools() string {
	c.t.Helper()
	return strings.Join(c.callTool("list_callable_tools", map[string]any{}).Text, "\n")
}

func TestServersOfAnotherClientsFileComeChangeAndGo(t *testing.T) {
	file := newClientFile(t)
	journal := filepath.Join(t.TempDir(), "journal")
	file.servers(map[string]map[string]string{"first": {}})
	own := on(t, "native").test("own").String()
	c := serve(t, "import: ["+quote(file.path)+"]\n"+own)

	if got := c.output(`print(await mcp__first__echo(message="a"), await mcp__own__echo(message="b"))`); got != "a b\n" {
		t.Errorf("got %q", got)
	}

	// One is added, and one changed, which the program sees in its variables.
	file.servers(map[string]map[string]string{"first": {"GREETING": "hello"}, "second": {"PTC_TESTSERVER_JOURNAL": journal}})
	eventually(t, "the added server's tools are listed", func() bool { return strings.Contains(c.tools(), "mcp__second__echo") })
	if got := c.output(`print((await mcp__first__environment())["GREETING"], await mcp__second__echo(message="c"))`); got != "hello c\n" {
		t.Errorf("got %q", got)
	}

	// One is removed in the middle of a call.
	_, answer := c.send("tools/call", map[string]any{"name": "execute_program", "arguments": map[string]any{"code": `
print(await mcp__first__echo(message="before"))
try:
    await mcp__second__sleep(seconds=60)
except ToolError as error:
    print(error.kind, error)
try:
    await mcp__second__echo(message="after")
except ToolError as error:
    print(error.kind, error)
print(await mcp__first__echo(message="still there"))
`}})
	eventually(t, "the call has reached the server", func() bool {
		text, _ := os.ReadFile(journal)
		return strings.Contains(string(text), `"sleep"`)
	})
	file.servers(map[string]map[string]string{"first": {"GREETING": "hello"}})
	select {
	case m := <-answer:
		got := c.parse(m.Result).Structured.Output
		for _, want := range []string{
			"before\n", "still there\n",
			`connection_lost mcp__second__sleep: the connection to server "second" was lost before it answered (the server is no longer configured)`,
			`unknown_tool mcp__second__echo: server "second" is no longer configured`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("the output lacks %q:\n%s", want, got)
			}
		}
	case <-time.After(patience):
		t.Fatal("the program did not end")
	}
	if got := c.tools(); strings.Contains(got, "second") {
		t.Errorf("still listed: %s", got)
	}

	// While the file is broken, what it said last holds.
	file.put(`{"mcpServers": {"first": `)
	eventually(t, "the broken file is mentioned", func() bool { return strings.Contains(c.tools(), "not valid JSON") })
	if got := c.output(`print(await mcp__first__echo(message="d"))`); got != "d\n" {
		t.Errorf("got %q", got)
	}
	file.put(`{}`)
	eventually(t, "the servers of the file are gone", func() bool {
		tools := c.tools()
		return !strings.Contains(tools, "mcp__first__") && !strings.Contains(tools, "not valid JSON")
	})
	if got := c.output(`print(await mcp__own__echo(message="e"))`); got != "e\n" {
		t.Errorf("got %q", got)
	}
}
