package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/test/clients"
)

// patience bounds everything a test waits for; it is far above what any of it
// takes, so that a slow machine fails no test.
const patience = 90 * time.Second

// client is an MCP client of one `ptc-mcp serve` that fails its test when
// anything goes wrong.
type client struct {
	*clients.Client
	t      *testing.T
	stderr *syncBuffer
}

// serve starts ptc-mcp with a configuration and shakes hands. It is stopped,
// and checked for having stopped cleanly, when the test ends.
func serve(t *testing.T, config string, env ...string) *client {
	t.Helper()
	c := start(t, config, env...)
	c.initialize()
	return c
}

// start starts ptc-mcp without saying anything to it.
func start(t *testing.T, config string, env ...string) *client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(ptcMCP, "serve", "--config", path, "--log-level", "debug")
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = repository
	c := &client{t: t, stderr: &syncBuffer{}}
	cmd.Stderr = c.stderr
	var err error
	if c.Client, err = clients.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

// stop closes ptc-mcp's input, which is how a client ends it.
func (c *client) stop() {
	_ = c.CloseInput()
	select {
	case <-c.Exited():
	case <-time.After(patience):
		_ = c.Cmd.Process.Kill()
		<-c.Exited()
		c.t.Errorf("ptc-mcp did not end after its input was closed")
	}
	if err := c.ExitError(); err != nil && c.Cmd.ProcessState.ExitCode() != -1 {
		c.t.Errorf("ptc-mcp ended with %v", err)
	}
	if garbage := c.Garbage(); len(garbage) > 0 {
		c.t.Errorf("stdout carried something that is not MCP: %q", garbage)
	}
	log := c.stderr.String()
	broken := strings.Contains(log, "WARNING: DATA RACE") || strings.Contains(log, "panic:")
	if broken {
		c.t.Error("ptc-mcp raced or panicked")
	}
	if broken || c.t.Failed() {
		c.t.Logf("ptc-mcp's log:\n%s", tail(log, 8<<10))
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func (c *client) write(line string) {
	if err := c.Write(line); err != nil {
		c.t.Errorf("write to ptc-mcp: %v", err)
	}
}

// send sends a request and returns its id and where its answer will come.
func (c *client) send(method string, params any) (int, <-chan clients.Message) {
	c.t.Helper()
	id, answer, err := c.Send(method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return id, answer
}

func (c *client) request(method string, params any) json.RawMessage {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), patience)
	defer cancel()
	result, err := c.Request(ctx, method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return result
}

func (c *client) initialize() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if _, err := c.Initialize(ctx); err != nil {
		c.t.Fatalf("initialize: %v", err)
	}
}

// toolResult is what a tools/call returned.
type toolResult struct {
	Text       []string
	IsError    bool
	Structured struct {
		OK        bool            `json:"ok"`
		Output    string          `json:"output"`
		Result    json.RawMessage `json:"result"`
		Error     *string         `json:"error"`
		ToolCalls struct {
			Total     int      `json:"total"`
			Failed    int      `json:"failed"`
			Cancelled int      `json:"cancelled"`
			Changed   []string `json:"changed"`
			Unknown   []string `json:"outcome_unknown"`
		} `json:"tool_calls"`
		Failure *struct {
			Kind string `json:"kind"`
			Line int    `json:"line"`
		} `json:"failure"`
		Figures struct {
			Sandbox string `json:"sandbox"`
		} `json:"figures"`
	}
	size int // of the whole result as it came
}

func (c *client) parse(raw json.RawMessage) toolResult {
	c.t.Helper()
	var wire struct {
		Content []struct {
			Type, Text string
		}
		IsError           bool
		StructuredContent json.RawMessage
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		c.t.Fatalf("tool result: %v", err)
	}
	r := toolResult{IsError: wire.IsError, size: len(raw)}
	for _, block := range wire.Content {
		r.Text = append(r.Text, block.Text)
	}
	if wire.StructuredContent != nil {
		if err := json.Unmarshal(wire.StructuredContent, &r.Structured); err != nil {
			c.t.Fatalf("structured content: %v", err)
		}
	}
	return r
}

func (c *client) callTool(name string, arguments map[string]any) toolResult {
	c.t.Helper()
	return c.parse(c.request("tools/call", map[string]any{"name": name, "arguments": arguments}))
}

func (c *client) execute(code string) toolResult {
	c.t.Helper()
	return c.callTool("execute_program", map[string]any{"code": code})
}

// output runs a program that must succeed, and returns what it printed.
func (c *client) output(code string) string {
	c.t.Helper()
	r := c.execute(code)
	if r.IsError || !r.Structured.OK {
		c.t.Fatalf("program failed:\n%s", strings.Join(r.Text, "\n"))
	}
	return r.Structured.Output
}

// fails runs a program that must fail in the given way, with the given output
// kept, and checks that the server is well afterwards.
func (c *client) fails(code, kind, output string) toolResult {
	c.t.Helper()
	r := c.execute(code)
	if !r.IsError || r.Structured.Failure == nil || r.Structured.Failure.Kind != kind {
		c.t.Errorf("want a failure of kind %q, got (isError %v):\n%s", kind, r.IsError, tail(strings.Join(r.Text, "\n"), 4<<10))
	}
	if !strings.Contains(r.Structured.Output, output) {
		c.t.Errorf("output %.200q lacks %q", r.Structured.Output, output)
	}
	if !strings.HasPrefix(r.Text[0], "[Script execution failed]\n") {
		c.t.Errorf("text begins %.60q", r.Text[0])
	}
	c.isWell()
	return r
}

// isWell checks that the server still answers and runs programs.
func (c *client) isWell() {
	c.t.Helper()
	c.request("ping", map[string]any{})
	if got := c.output("print(6 * 7)"); got != "42\n" {
		c.t.Errorf("print(6 * 7) gave %q", got)
	}
}

// eventually polls until condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never came true: %s", what)
		}
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
