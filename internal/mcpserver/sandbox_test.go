package mcpserver

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// The tests run the real executor. Only the sandbox is a goroutine, whose
// "Python" has five statements, one a line: print TEXT, emit JSON, call NAME,
// fail TEXT and wait, which blocks until the sandbox is closed.

func runScript(channel io.ReadWriter, output io.Writer) sandbox.ExitStatus {
	send := func(frame any) bool {
		body, err := json.Marshal(frame)
		if err != nil {
			panic(err)
		}
		_, err = channel.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
		return err == nil
	}
	receive := func(into any) bool {
		var size [4]byte
		if _, err := io.ReadFull(channel, size[:]); err != nil {
			return false
		}
		body := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(channel, body); err != nil {
			return false
		}
		return json.Unmarshal(body, into) == nil
	}
	send(map[string]any{"type": "hello", "protocol": 1, "python": "3.12.0", "runner": "0123456789abcdef"})
	var start struct{ Source, Marker string }
	if !receive(&start) {
		return sandbox.ExitStatus{}
	}
	var failure any
	for id, line := range strings.Split(start.Source, "\n") {
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "print":
			fmt.Fprintln(output, rest)
		case "emit":
			send(map[string]any{"type": "emit", "value": json.RawMessage(rest)})
		case "call":
			var answer map[string]any
			if !send(map[string]any{"type": "call", "id": id + 1, "tool": rest, "arguments": map[string]any{}}) || !receive(&answer) {
				return sandbox.ExitStatus{}
			}
		case "fail":
			failure = map[string]any{"kind": "exception", "type": "ValueError", "message": rest,
				"traceback": "ValueError: " + rest, "line": id + 1, "exit_code": 1}
		case "wait":
			var never any
			receive(&never)
			return sandbox.ExitStatus{}
		}
	}
	marker, err := hex.DecodeString(start.Marker)
	if err != nil {
		panic(err)
	}
	if _, err := output.Write(marker); err != nil {
		return sandbox.ExitStatus{}
	}
	outcome := "ok"
	if failure != nil {
		outcome = "error"
	}
	send(map[string]any{"type": "done", "outcome": outcome, "error": failure})
	var never any
	receive(&never)
	return sandbox.ExitStatus{}
}

// fakeServers answers calls, and is the catalogue of them.
type fakeServers struct {
	servers []tool.Server
	names   []string
	// answer, if set, answers the calls.
	answer func(ctx context.Context, name string) (json.RawMessage, error)
}

func (f *fakeServers) CallTool(ctx context.Context, name string, _ json.RawMessage) (json.RawMessage, error) {
	if f.answer == nil {
		return json.RawMessage(`{"ok":true}`), nil
	}
	return f.answer(ctx, name)
}

func (f *fakeServers) Prepare(context.Context, string) tool.Table {
	return tool.Table{Wire: json.RawMessage(`[]`)}
}
func (f *fakeServers) Names() []string        { return f.names }
func (f *fakeServers) Servers() []tool.Server { return f.servers }

func (f *fakeServers) List(server string) ([]tool.Listed, error) {
	var list []tool.Listed
	for _, name := range f.names {
		if of := strings.Split(name, "__")[1]; server == "" || server == of {
			list = append(list, tool.Listed{Name: name, Server: of, Signature: name + "(*, path: str) -> Any", Summary: "Does it"})
		}
	}
	if server != "" && len(list) == 0 {
		return nil, fmt.Errorf("%s: no such server", server)
	}
	return list, nil
}

func (f *fakeServers) Search(query string, limit int, server string) (tool.SearchResult, error) {
	list, err := f.List(server)
	if err != nil || query == "nothing" {
		return tool.SearchResult{Searched: len(list)}, err
	}
	return tool.SearchResult{Tools: list[:min(limit, len(list))], Total: len(list), Searched: len(list)}, nil
}

func (f *fakeServers) Folders() []string { return []string{"crm", "files", "github", "wiki"} }

func (f *fakeServers) Folder(name string) ([]tool.Module, error) {
	switch name {
	case "files":
		return []tool.Module{{Name: "read", Callable: "mcp__files__read"}}, nil
	case "github":
		return []tool.Module{{Name: "list_issues", Callable: "mcp__github__list_issues", Summary: "Lists issues."}}, nil
	case "crm", "wiki":
		return nil, tool.Errorf(name, tool.KindConnection, "server is not connected")
	}
	return nil, tool.Errorf(name, tool.KindArguments, "no such server")
}

func (f *fakeServers) Stub(name string) (string, error) {
	if _, err := f.Inspect(name); err != nil {
		return "", err
	}
	return "async def list_issues() -> object: ...\n", nil
}

func (f *fakeServers) Inspect(name string) (json.RawMessage, error) {
	if name == "mcp__github__list_issues" {
		return json.RawMessage(`{"name":"mcp__github__list_issues","description":"Lists issues.","inputSchema":{"type":"object"},"outputSchema":null,"note":"The server declares no output schema."}`), nil
	}
	return nil, fmt.Errorf("inspect_tool: unknown tool %q; nearest: mcp__github__list_issues", name)
}

// counted counts the programs under way, and panics when told to.
type counted struct {
	Runner
	active, peak atomic.Int32
}

func (c *counted) Run(ctx context.Context, req executor.Request) *executor.Outcome {
	for now := c.active.Add(1); ; {
		peak := c.peak.Load()
		if now <= peak || c.peak.CompareAndSwap(peak, now) {
			break
		}
	}
	defer c.active.Add(-1)
	if req.Source == "panic" {
		panic("out of cheese")
	}
	return c.Runner.Run(ctx, req)
}

// bench is a server with its parts.
type bench struct {
	*Server
	runs    *counted
	sandbox *sandboxtest.Fake
	servers *fakeServers
}

func newBench(t *testing.T) *bench {
	t.Helper()
	servers := &fakeServers{
		names: []string{"mcp__files__read", "mcp__github__list_issues"},
		servers: []tool.Server{
			{Name: "github", Connected: true, Tools: 1},
			{Name: "files", Connected: true, Tools: 1},
			{Name: "crm", Error: "exec: \"crm-mcp\": executable file not found in $PATH"},
			{Name: "wiki", Connecting: true},
		},
	}
	fake := &sandboxtest.Fake{Runner: runScript}
	logger := slog.New(slog.DiscardHandler)
	runs := &counted{Runner: executor.New(fake, servers, executor.Limits{
		Timeout: time.Minute, ToolCallTimeout: time.Minute,
		MaxToolCalls: 1000, MaxConcurrentCalls: 8,
		MaxToolResultBytes: 1 << 20, MaxOutputBytes: 64 << 10,
		MemoryBytes: 512 << 20, CPUs: 1, Processes: 64, ScratchBytes: 64 << 20, OpenFiles: 256,
	}, logger)}
	server := New(servers, runs, Options{Version: "1.2.3", Trace: "summary", MaxOutputBytes: 64 << 10, Logger: logger})
	return &bench{Server: server, runs: runs, sandbox: fake, servers: servers}
}
