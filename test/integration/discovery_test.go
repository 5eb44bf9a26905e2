package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAModelFindsToolsOfRealServers(t *testing.T) {
	folder := t.TempDir()
	c := serve(t, on(t, "native").everything().filesystem(folder).memory(t).stdio("gone", "no-such-server").String())
	callable(t, c, 35)
	for query, want := range map[string]string{
		"make a new folder":             "mcp__filesystem__create_directory(*, path: str) -> ",
		"search the knowledge graph":    "mcp__memory__search_nodes(*, query: str) -> ",
		"mcp__everything__get_sum":      "mcp__everything__get_sum(*, a: float, b: float) -> ",
		"everything.get-sum":            "mcp__everything__get_sum(*, a: float, b: float) -> ",
		"saerch the knowledge grahp":    "mcp__memory__search_nodes(*, query: str) -> ",
		"which directories are allowed": "mcp__filesystem__list_allowed_directories() -> ",
	} {
		r := c.callTool("search_tools", map[string]any{"query": query, "limit": 3})
		lines := strings.Split(r.Text[0], "\n")
		if !strings.HasPrefix(lines[0], want) || !strings.Contains(lines[0], "  # ") || len(lines) > 5 {
			t.Errorf("%s: got %s, want %s…", query, r.Text[0], want)
		}
		if len(r.Text) != 2 || !strings.Contains(r.Text[1], "gone: down: ") {
			t.Errorf("%s: who is missing is not said: %q", query, r.Text)
		}
		if size := len(r.Text[0]); size > 1200 {
			t.Errorf("%s: %d bytes for three tools", query, size)
		}
	}
	r := c.callTool("inspect_tool", map[string]any{"tool_name": []string{"get-sum", "filesystem.read_text_file"}})
	var tools []struct{ Name string }
	if err := json.Unmarshal([]byte(r.Text[0]), &tools); err != nil || len(tools) != 2 || tools[1].Name != "mcp__filesystem__read_text_file" {
		t.Errorf("got %s, %v", r.Text[0], err)
	}
	r = c.callTool("list_callable_tools", map[string]any{"server": "memory", "detail": "signatures"})
	if lines := strings.Split(strings.TrimSpace(r.Text[0]), "\n"); len(lines) != 9 || len(r.Text) != 1 || !strings.HasPrefix(lines[0], "mcp__memory__add_observations(*, observations: List[") {
		t.Errorf("got %q", r.Text)
	}
}

func TestAProgramFindsAndCallsATool(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).everything().memory(t).limit("max_tool_calls", 1).String())
		callable(t, c, 21)
		got := c.output(`
found = await search_tools("add two numbers", limit=1)
tool = found["tools"][0]
print(found["total"] >= 1, found["searched"] > 20, found["not_connected"], tool["description"])
print(tool["signature"].split(" -> ")[0])
print(await globals()[tool["name"]](a=2, b=3))
print(len(list_callable_tools("memory")), list_callable_tools(server="memory", detail="signatures")[0]["name"])
one, other = inspect_tool(["get-sum", mcp__everything__echo])
print(one["name"], other["name"])
compile(inspect_tool("get-sum", format="python"), "stub", "exec")
try:
    search_tools("x", server="nowhere")
except ToolError as error:
    print(error.kind, error)
`)
		want := []string{
			"True True {} Returns the sum of two numbers",
			"mcp__everything__get_sum(*, a: float, b: float)",
			"The sum of 2 and 3 is 5.",
			"9 mcp__memory__add_observations",
			"mcp__everything__get_sum mcp__everything__echo",
			"invalid_argument nowhere: no such server; configured are everything, memory",
		}
		if lines := strings.Split(strings.TrimSpace(got), "\n"); !slices.Equal(lines, want) {
			t.Errorf("printed\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

// callable waits until so many tools are there.
func callable(t *testing.T, c *client, count int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d tools are there", count), func() bool {
		var names []string
		return json.Unmarshal([]byte(c.callTool("list_callable_tools", nil).Text[0]), &names) == nil && len(names) == count
	})
}

// found waits until a search of the client for the name finds that very tool,
// or does not, and returns how long that took.
func found(t *testing.T, c *client, name string, want bool) time.Duration {
	t.Helper()
	began := time.Now()
	eventually(t, fmt.Sprintf("%s is found: %v", name, want), func() bool {
		r := c.callTool("search_tools", map[string]any{"query": name, "limit": 1})
		return strings.HasPrefix(r.Text[0], name+"(") == want
	})
	return time.Since(began)
}

func TestASearchFollowsAListThatChanges(t *testing.T) {
	c := serve(t, on(t, "native").test("t", "echo", "-change").everything().String())
	found(t, c, "mcp__t__late", false)
	c.output(`await mcp__t__change(add="late")`)
	took := found(t, c, "mcp__t__late", true)
	c.output(`await mcp__t__change(remove="late")`)
	t.Logf("found after %v, gone after %v", took, found(t, c, "mcp__t__late", false))
}

func TestASearchFollowsAServerThatComesAndGoes(t *testing.T) {
	once := filepath.Join(t.TempDir(), "died")
	c := serve(t, on(t, "native").test("t", "echo", "-die-on-call", "increment", "-die-once", once).everything().String())
	found(t, c, "mcp__t__echo", true)
	got := c.output(`
try:
    await mcp__t__increment()
except ToolError as error:
    print(error.kind, "connection to server \"t\" was lost" in str(error), "whether it took effect is unknown" in str(error))
`)
	if got != "connection_lost True True\n" {
		t.Errorf("printed %q", got)
	}
	if _, err := os.Stat(once); err != nil {
		t.Fatalf("the server did not die: %v", err)
	}
	t.Logf("back after %v", found(t, c, "mcp__t__echo", true))
}

func TestAToolThatVanishesInMidProgramSaysWhatHappened(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "echo", "-change").String())
		c.output(`await mcp__t__change(add="late")`)
		found(t, c, "mcp__t__late", true)
		got := c.output(`
import asyncio
print((await search_tools("mcp__t__late"))["tools"][0]["name"])
await mcp__t__late()
await mcp__t__change(remove="late")
for attempt in range(100):
    try:
        await mcp__t__late()
        await asyncio.sleep(0.05)
    except ToolError as error:
        if error.kind == "unknown_tool":
            print(error)
            break
print([tool["name"] for tool in (await search_tools("mcp__t__late", limit=1))["tools"] if tool["name"] == "mcp__t__late"])
print("mcp__t__late" in list_callable_tools(server="t"))
`)
		lines := strings.Split(strings.TrimSpace(got), "\n")
		said := `^mcp__t__late: server "t" withdrew this tool from its list \d+s ago, so nothing was sent; do without it`
		if len(lines) != 4 || lines[0] != "mcp__t__late" || !regexp.MustCompile(said).MatchString(lines[1]) || lines[2] != "[]" || lines[3] != "False" {
			t.Errorf("printed %q", lines)
		}
	})
}

func TestToolsOnTheCommandLine(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("first\nsecond\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := on(t, "native").filesystem(folder).memory(t).stdio("gone", "no-such-server").String()
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf(`{"path":%q}`, filepath.Join(folder, "a.txt"))
	for _, test := range []struct {
		name    string
		args    []string
		stdin   string
		code    int
		out     string // what standard output begins with
		message string // part of standard error
	}{
		{"search", []string{"search", "forget", "what", "is", "known", "of", "an", "entity", "--limit", "2"}, "", 0, "mcp__memory__delete_entities(", "among 23 tools"},
		{"call", []string{"call", "filesystem.read_text_file", path, "--json"}, "", 0, `{"content":"first\nsecond\n"}`, ""},
		{"call with arguments from standard input", []string{"call", "read_text_file", "-", "--json"}, path, 0, `{"content":"first\nsecond\n"}`, ""},
		{"a call that fails", []string{"call", "filesystem.read_text_file", `{"path":"/etc/passwd"}`}, "", 1, "", "outside allowed directories"},
		{"an unknown tool", []string{"call", "filesystem.read_txt_file", path}, "", 2, "", "or mcp__filesystem__read_text_file"},
		{"a server that is down", []string{"call", "gone.anything"}, "", 4, "", `server "gone" is not connected`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, message strings.Builder
			cmd := exec.Command(ptcMCP, append(append([]string{"tools"}, test.args...), "--config", config)...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(test.stdin), &out, &message
			var failed *exec.ExitError
			if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != test.code || !strings.HasPrefix(out.String(), test.out) || !strings.Contains(message.String(), test.message) {
				t.Errorf("exit code %d, printed %.300q and %.600q", got, out.String(), message.String())
			}
		})
	}
}
