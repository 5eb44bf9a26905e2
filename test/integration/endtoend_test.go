package integration

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAProgramCallsRealServers(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		folder := realpath(t, t.TempDir())
		if err := os.WriteFile(filepath.Join(folder, "notes.txt"), []byte("first\nsecond\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := serve(t, on(t, kind).everything().filesystem(folder).memory(t).String())

		got := c.output(fmt.Sprintf(`
import asyncio, json
print(await mcp__everything__echo(message="héllo"))
print(await mcp__everything__get_sum({"a": 2, "b": 3}))
weather = await mcp__everything__get_structured_content(location="New York")
print(sorted(weather))
print(json.loads(await servers.everything.get_structured_content(location="Chicago"))["temperature"])
notes = await mcp__filesystem__read_text_file(path=%q)
print(notes["content"].split())
await mcp__memory__create_entities(entities=[{"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}])
graph = await mcp__memory__read_graph()
print([e["name"] for e in graph["entities"]])
from servers.everything import echo as say
print(await asyncio.gather(*(say(message=str(i)) for i in range(5))))
`, filepath.Join(folder, "notes.txt")))
		want := []string{"Echo: héllo", "The sum of 2 and 3 is 5.", "['conditions', 'humidity', 'temperature']", "36", "['first', 'second']", "['Ada']",
			"['Echo: 0', 'Echo: 1', 'Echo: 2', 'Echo: 3', 'Echo: 4']"}
		if lines := strings.Split(strings.TrimSpace(got), "\n"); !slices.Equal(lines, want) {
			t.Errorf("printed\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

func TestTheToolsAreCompatible(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).everything().stdio("absent", "/nowhere/no-such-server").String())

		var listed struct {
			Tools []struct {
				Name         string
				OutputSchema json.RawMessage
			}
		}
		if err := json.Unmarshal(c.request("tools/list", map[string]any{}), &listed); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range listed.Tools {
			names = append(names, tool.Name)
		}
		slices.Sort(names)
		if !slices.Equal(names, []string{"execute_program", "inspect_tool", "list_callable_tools", "search_tools"}) {
			t.Errorf("tools %v", names)
		}

		var list toolResult
		eventually(t, "everything is listed and absent reported", func() bool {
			list = c.callTool("list_callable_tools", nil)
			return strings.Contains(list.Text[0], "mcp__everything__echo") && len(list.Text) == 2 &&
				strings.Contains(list.Text[1], "absent") && strings.Contains(list.Text[1], "no such file")
		})
		var callable []string
		if err := json.Unmarshal([]byte(list.Text[0]), &callable); err != nil || !slices.IsSorted(callable) {
			t.Errorf("list_callable_tools: %v, %s", err, list.Text[0])
		}

		for _, name := range []string{"mcp__everything__get_structured_content", "mcp__everything__get-structured-content"} {
			var inspected map[string]json.RawMessage
			r := c.callTool("inspect_tool", map[string]any{"tool_name": name})
			if err := json.Unmarshal([]byte(r.Text[0]), &inspected); err != nil {
				t.Fatalf("%v: %s", err, r.Text[0])
			}
			if string(inspected["name"]) != `"mcp__everything__get_structured_content"` || !strings.Contains(string(inspected["outputSchema"]), "temperature") {
				t.Errorf("inspect_tool(%s): %s", name, r.Text[0])
			}
		}
		r := c.callTool("inspect_tool", map[string]any{"tool_name": "mcp__everything__ecko"})
		if !r.IsError || !strings.Contains(r.Text[0], "mcp__everything__echo") {
			t.Errorf("inspect_tool of an unknown name: %v %s", r.IsError, r.Text)
		}

		r = c.execute("for i in range(3):\n    print(await mcp__everything__echo(message=str(i)))\nemit({'n': 3})")
		if want := "[Script executed successfully]\nEcho: 0\nEcho: 1\nEcho: 2\n--- result ---\n{\"n\":3}\n[tool calls: 3; "; r.IsError || !strings.HasPrefix(r.Text[0], want) {
			t.Errorf("text:\n%s", r.Text[0])
		}
		if s := r.Structured; !s.OK || s.Output != "Echo: 0\nEcho: 1\nEcho: 2\n" || string(s.Result) != `{"n":3}` || s.Error != nil || s.ToolCalls.Total != 3 || s.Figures.Sandbox != kind {
			t.Errorf("structured %+v", s)
		}
		if r := c.execute("pass"); r.Text[0] != "[Script executed successfully]\n(no output)" {
			t.Errorf("text:\n%s", r.Text[0])
		}
		r = c.fails("print('so far')\nawait mcp__everything__echo(message='x')\nraise ValueError('no')", "exception", "so far\n")
		if want := "ValueError: no"; !strings.Contains(r.Text[0], want) || r.Structured.Failure.Line != 3 || !strings.Contains(r.Text[0], "\n\n--- output before the error ---\nso far\n") {
			t.Errorf("text:\n%s", r.Text[0])
		}
	})
}

func TestRemoteServersOverBothTransports(t *testing.T) {
	for transport, server := range map[string]struct{ mode, path string }{
		"http": {"streamableHttp", "/mcp"},
		"sse":  {"sse", "/sse"},
	} {
		t.Run(transport, func(t *testing.T) {
			port := freePort(t)
			url := fmt.Sprintf("http://127.0.0.1:%d%s", port, server.path)
			stop := startEverything(t, server.mode, port)
			c := serve(t, on(t, "docker").remote("everything", transport, url).String())
			if got := c.output(`print(await mcp__everything__echo(message="over the wire"))`); got != "Echo: over the wire\n" {
				t.Errorf("printed %q", got)
			}

			// The server goes away and comes back: its tools leave the catalogue
			// and return, without a restart of ptc-mcp (faults 3 and 4).
			stop()
			eventually(t, "the dead server's tools leave the catalogue", func() bool {
				return !strings.Contains(c.callTool("list_callable_tools", nil).Text[0], "mcp__everything__echo")
			})
			startEverything(t, server.mode, port)
			eventually(t, "they come back", func() bool {
				return strings.Contains(c.callTool("list_callable_tools", nil).Text[0], "mcp__everything__echo")
			})
			if got := c.output(`print(await mcp__everything__echo(message="again"))`); got != "Echo: again\n" {
				t.Errorf("printed %q", got)
			}
		})
	}
}

// startEverything runs server-everything in one of its network modes until the
// returned function, or the test's end, stops it.
func startEverything(t *testing.T, mode string, port int) (stop func()) {
	t.Helper()
	cmd := exec.Command("node", npmServer("everything"), mode)
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	if version, err := exec.Command("node", "--version").Output(); err == nil && strings.HasPrefix(string(version), "v18.") {
		// The server takes the global crypto for granted, which came with Node
		// 19; Debian 12 has 18.
		cmd.Env = append(cmd.Env, "NODE_OPTIONS=--experimental-global-webcrypto")
	}
	log := &syncBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	eventually(t, "server-everything listens", func() bool {
		probe, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), patience)
		if err == nil {
			_ = probe.Close()
		}
		return err == nil
	})
	return stop
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func realpath(t *testing.T, path string) string {
	t.Helper()
	p, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
