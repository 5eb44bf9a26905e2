// Package clients is an MCP client over the standard streams of a server
// process, for the integration tests and the benchmark: plain enough to be sure
// of every byte, and knowing nothing of ptc-mcp.
package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// Client speaks to one server process. It is safe for concurrent use.
type Client struct {
	// Cmd is the server's process.
	Cmd *exec.Cmd

	stdin  io.WriteCloser
	exited chan struct{}
	exit   error

	write sync.Mutex

	mu            sync.Mutex
	nextID        int
	pending       map[int]chan Message
	notifications []Message
	garbage       []string
}

// Message is one JSON-RPC message from the server.
type Message struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
	// At is when it came.
	At time.Time `json:"-"`
}

// Error is a JSON-RPC error.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// ErrExited means that the server's process ended before it answered.
var ErrExited = errors.New("server exited before it answered")

// Start starts cmd, whose standard input and output must not be set.
func Start(cmd *exec.Cmd) (*Client, error) {
	c := &Client{Cmd: cmd, exited: make(chan struct{}), pending: make(map[int]chan Message)}
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go c.read(stdout)
	return c, nil
}

func (c *Client) read(stdout io.Reader) {
	lines := bufio.NewReaderSize(stdout, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			c.receive(line)
		}
		if err != nil {
			break
		}
	}
	c.exit = c.Cmd.Wait()
	close(c.exited)
}

func (c *Client) receive(line []byte) {
	var m Message
	err := json.Unmarshal(line, &m)
	m.At = time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.garbage = append(c.garbage, string(line[:min(len(line), 200)]))
	case m.ID == nil:
		c.notifications = append(c.notifications, m)
	case m.Method == "":
		if answer, ok := c.pending[*m.ID]; ok {
			delete(c.pending, *m.ID)
			answer <- m
		}
	}
}

// Exited is closed when the server's process has ended and been reaped.
func (c *Client) Exited() <-chan struct{} { return c.exited }

// ExitError is how the process ended; valid once Exited is closed.
func (c *Client) ExitError() error { return c.exit }

// Garbage returns the beginnings of the lines that were not JSON-RPC.
func (c *Client) Garbage() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.garbage
}

// Notifications returns those received so far.
func (c *Client) Notifications() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.notifications[:len(c.notifications):len(c.notifications)]
}

// CloseInput is how a client leaves.
func (c *Client) CloseInput() error { return c.stdin.Close() }

// Write sends one line as it is.
func (c *Client) Write(line string) error {
	c.write.Lock()
	defer c.write.Unlock()
	_, err := io.WriteString(c.stdin, line+"\n")
	return err
}

// Send sends a request and returns its id and where its answer will come.
func (c *Client) Send(method string, params any) (int, <-chan Message, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return 0, nil, err
	}
	answer := make(chan Message, 1)
	c.mu.Lock()
	c.nextID++
	id := c.nextID
	c.pending[id] = answer
	c.mu.Unlock()
	return id, answer, c.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, raw))
}

// Await waits for an answer.
func (c *Client) Await(ctx context.Context, answer <-chan Message) (json.RawMessage, error) {
	select {
	case m := <-answer:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-c.exited:
		return nil, ErrExited
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Request sends a request and waits for its result.
func (c *Client) Request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	_, answer, err := c.Send(method, params)
	if err != nil {
		return nil, err
	}
	return c.Await(ctx, answer)
}

// Initialize shakes hands as a client of the 2025-11-25 era.
func (c *Client) Initialize(ctx context.Context) (json.RawMessage, error) {
	result, err := c.Request(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-11-25",
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "test-client", "version": "1"},
	})
	if err != nil {
		return nil, err
	}
	return result, c.Write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}
