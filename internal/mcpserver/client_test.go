package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"
)

// patience bounds every wait of the tests; it is reached only when something
// hangs.
const patience = 60 * time.Second

// client drives ServeStdio through kernel pipes, as a real client does.
type client struct {
	t      *testing.T
	in     *os.File
	out    *os.File // the client's end of the server's output
	lines  chan string
	served chan error
	cancel context.CancelFunc
}

func connect(t *testing.T, server *Server) *client {
	t.Helper()
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := &client{t: t, in: in, out: out, lines: make(chan string, 4096), served: make(chan error, 1), cancel: cancel}
	go func() {
		err := server.ServeStdio(ctx, stdin, stdout)
		stdout.Close()
		stdin.Close()
		c.served <- err
	}()
	go func() {
		defer close(c.lines)
		reader := bufio.NewReader(out)
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				return
			}
			c.lines <- line[:len(line)-1]
		}
	}()
	t.Cleanup(func() {
		cancel()
		in.Close()
		out.Close()
	})
	return c
}

// send writes a line. It may be used from another goroutine than the test's,
// for lines that no pipe holds.
func (c *client) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.t.Errorf("send: %v", err)
	}
}

// execute sends a call of execute_program.
func (c *client) execute(id any, code string, meta string) {
	c.t.Helper()
	if meta == "" {
		meta = "{}"
	}
	c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"execute_program","arguments":{"code":%s},"_meta":%s}}`, quote(id), quote(code), meta)
}

func quote(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return encoded
}

func (c *client) line() string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the server closed its output")
		}
		return line
	case <-time.After(patience):
		c.t.Fatal("the server does not answer")
	}
	return ""
}

// message is what the tests look at in a line of the server.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  progressParams  `json:"params"`
	Result  struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		Tools             []struct {
			Name         string          `json:"name"`
			OutputSchema json.RawMessage `json:"outputSchema"`
		} `json:"tools"`
		Instructions string `json:"instructions"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (c *client) message() message {
	c.t.Helper()
	var m message
	line := c.line()
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		c.t.Fatalf("not JSON: %q: %v", line, err)
	}
	if m.JSONRPC != "2.0" {
		c.t.Fatalf("not JSON-RPC: %q", line)
	}
	return m
}

// text is the first text of a message's result.
func (m message) text() string {
	if len(m.Result.Content) == 0 {
		return ""
	}
	return m.Result.Content[0].Text
}

// end waits for ServeStdio to return.
func (c *client) end() error {
	c.t.Helper()
	select {
	case err := <-c.served:
		return err
	case <-time.After(patience):
		c.t.Fatal("ServeStdio does not return")
	}
	return nil
}

// eventually polls a condition that another goroutine brings about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		}
	}
}
