//go:build linux

package escape

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/cli"
)

// servedConfig tells this binary to be ptc-mcp, serving with a configuration,
// so that a test can kill it.
const servedConfig = "PTC_MCP_ESCAPE_SERVE"

// serve is what main does for `ptc-mcp serve`.
func serve(config string) int {
	return cli.Run(context.Background(), []string{"serve", "--log-level", "error", "--config", config},
		cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, "test")
}

// server is one ptc-mcp process, and the client at its other end.
type server struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	stderr  bytes.Buffer
	ended   chan struct{} // closed when it can answer no more

	mu      sync.Mutex
	lastID  int
	waiting map[int]chan json.RawMessage
}

// startServer starts ptc-mcp, with variables of its environment, and
// initialises a session.
func startServer(t *testing.T, config string, environment ...string) *server {
	t.Helper()
	s := &server{ended: make(chan struct{}), waiting: map[int]chan json.RawMessage{}}
	s.command = exec.Command("/proc/self/exe")
	s.command.Env = append(append(os.Environ(), servedConfig+"="+config), environment...)
	s.command.Stderr = &s.stderr
	var err error
	if s.stdin, err = s.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read(stdout)
	t.Cleanup(s.kill)
	if _, ok := s.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"escape","version":"1"}}`); !ok {
		t.Fatalf("no answer to initialize: %s", s.stderr.String())
	}
	return s
}

// pid is the process's number.
func (s *server) pid() int { return s.command.Process.Pid }

// read passes answers to whoever waits for them.
func (s *server) read(stdout io.Reader) {
	defer close(s.ended)
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var answer struct {
			ID     int
			Result json.RawMessage
		}
		if json.Unmarshal(line, &answer) != nil || answer.ID == 0 {
			continue // a notification
		}
		s.mu.Lock()
		waiting := s.waiting[answer.ID]
		delete(s.waiting, answer.ID)
		s.mu.Unlock()
		if waiting != nil {
			waiting <- answer.Result
		}
	}
}

// request returns the result, or false when the server ended before.
func (s *server) request(method, params string) (json.RawMessage, bool) {
	answer := make(chan json.RawMessage, 1)
	s.mu.Lock()
	s.lastID++
	s.waiting[s.lastID] = answer
	_, _ = fmt.Fprintf(s.stdin, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.lastID, method, params) // a dead server is seen below
	s.mu.Unlock()
	select {
	case result := <-answer:
		return result, true
	case <-s.ended:
		return nil, false
	}
}

// run has a program run; answered is false when the server ended before.
func (s *server) run(program string) (text string, failed, answered bool) {
	arguments, err := json.Marshal(map[string]any{"name": "execute_program", "arguments": map[string]string{"code": program}})
	if err != nil {
		panic(err) // strings
	}
	raw, answered := s.request("tools/call", string(arguments))
	if !answered {
		return "", false, false
	}
	var result struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &result); err != nil || len(result.Content) == 0 {
		return string(raw), true, true
	}
	return result.Content[0].Text, result.IsError, true
}

// kill is kill -9.
func (s *server) kill() {
	_ = s.command.Process.Kill() // it may have ended already
	<-s.ended
	_ = s.command.Wait()
}

// stop ends the session, as a client does, and waits for the server's end.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.stdin.Close(); err != nil {
		t.Error(err)
	}
	<-s.ended
	if err := s.command.Wait(); err != nil {
		t.Errorf("the server ended badly: %v: %s", err, strings.TrimSpace(s.stderr.String()))
	}
}
