// Package subject starts and drives the server being measured: ptc-mcp, or
// another MCP server with the same execute_program tool. It owns its
// configuration, its requests, and what it and its children use.
//
// It knows nothing of floors, rows and bars.
package subject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ptc-mcp/ptc-mcp/test/clients"
)

// Server is one running server. It is safe for concurrent use.
type Server struct {
	*clients.Client
	// Started is how long it took from the start of the process to the answer
	// to initialize.
	Started time.Duration

	dir string
}

// Launch says how to start servers of one kind.
type Launch struct {
	// Name is how tables call it.
	Name string
	// TestServer is the MCP server with the tools that programs call.
	TestServer string
	// Binary is ptc-mcp, Sandbox its kind of sandbox, Image and Python what
	// programs run in. Without a Binary, Command is another server's command
	// line, for a shell.
	Binary, Sandbox, Image, Python string
	Command                        string
	// Extra are lines under execution for every server, after the others.
	Extra []string
	// Profiles, if set, is the beginning of the paths of a CPU and an allocation
	// profile of ptc-mcp that each server leaves.
	Profiles string
	// Stderr receives what the server logs.
	Stderr io.Writer
}

// Start starts a server and waits until it has answered initialize.
func (l Launch) Start(ctx context.Context, c Config) (_ *Server, err error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	cmd, err := l.command(dir, c)
	if err != nil {
		return nil, err
	}
	cmd.Stderr = l.Stderr
	// Killed with its group when the benchmark is interrupted or gives it up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	begin := time.Now()
	if s.Client, err = clients.Start(cmd); err != nil {
		return nil, err
	}
	if _, err = s.Initialize(ctx); err != nil {
		return nil, fmt.Errorf("%s: initialize: %w", l.Name, err)
	}
	s.Started = time.Since(begin)
	return s, nil
}

func (l Launch) command(dir string, c Config) (*exec.Cmd, error) {
	if l.Binary == "" {
		return l.otherCommand(dir, c)
	}
	execution := append([]string{"sandbox: " + l.Sandbox, "max_memory_bytes: 1GiB"}, shared...)
	execution = append(append(execution, c.Execution...), l.Extra...)
	var sections []string
	if l.Image != "" {
		sections = append(sections, fmt.Sprintf("docker: {image: %s, pull: never}", quote(l.Image)))
	}
	if l.Python != "" {
		sections = append(sections, fmt.Sprintf("python: {path: %s}", quote(l.Python)))
	}
	path, err := write(dir, "config.yaml", c.yaml(l.TestServer, execution, sections))
	if err != nil {
		return nil, err
	}
	args := []string{"serve", "--config", path, "--log-level", "error"}
	if l.Profiles != "" {
		unique := l.Profiles + "-" + filepath.Base(dir)
		args = append(args, "--cpuprofile", unique+".cpu", "--memprofile", unique+".mem")
	}
	return exec.Command(l.Binary, append(args, c.Flags...)...), nil
}

// otherCommand gives another server the same tools: by PTC_MCP_CONFIG, which
// names a configuration with the keys that servers of this kind share, and by
// the words {config} and {mcpServers} in its command line, which stand for the
// paths of that file and of one in the clients' format.
func (l Launch) otherCommand(dir string, c Config) (*exec.Cmd, error) {
	config, err := write(dir, "config.yaml", c.yaml(l.TestServer, append(append([]string{}, shared...), l.Extra...), nil))
	if err != nil {
		return nil, err
	}
	servers, err := write(dir, "mcp.json", c.mcpServers(l.TestServer))
	if err != nil {
		return nil, err
	}
	line := strings.NewReplacer("{config}", config, "{mcpServers}", servers).Replace(l.Command)
	cmd := exec.Command("sh", "-c", "exec "+line)
	cmd.Env = append(os.Environ(), "PTC_MCP_CONFIG="+config)
	return cmd, nil
}

// endTimeout is how long a server may take to end when its input has.
const endTimeout = 20 * time.Second

// Close ends the server, kills what has not ended by itself, and removes its
// files. The error is how it ended.
func (s *Server) Close() error {
	defer os.RemoveAll(s.dir)
	if s.Client == nil {
		return nil
	}
	_ = s.CloseInput()
	select {
	case <-s.Exited():
		return s.ExitError()
	case <-time.After(endTimeout):
		_ = syscall.Kill(-s.PID(), syscall.SIGKILL)
		<-s.Exited()
		return fmt.Errorf("server did not end within %v of its input", endTimeout)
	}
}

// PID is the server's process.
func (s *Server) PID() int { return s.Cmd.Process.Pid }

// Usage is what the server and its children have used.
func (s *Server) Usage() (Usage, error) { return UsageOf(s.PID()) }

// Execute runs a program that must succeed, and returns its output.
func (s *Server) Execute(ctx context.Context, code string) (string, error) {
	return s.Call(ctx, "execute_program", map[string]any{"code": code})
}

// Call calls a tool that must succeed, and returns its output as Execute does.
func (s *Server) Call(ctx context.Context, tool string, arguments map[string]any) (string, error) {
	raw, err := s.Request(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return "", err
	}
	return output(raw)
}

// output is what a program printed, by its result: the structured content's, or
// the text after its first line.
func output(raw []byte) (string, error) {
	var result struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent *struct {
			OK     *bool
			Output string
		}
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return "", fmt.Errorf("result of a tool: %w", err)
	}
	text := ""
	if len(result.Content) > 0 {
		text = result.Content[0].Text
	}
	structured := result.StructuredContent
	if result.IsError || structured != nil && structured.OK != nil && !*structured.OK || strings.HasPrefix(text, "[Script execution failed]") {
		return "", errors.New(text)
	}
	if structured != nil {
		return structured.Output, nil
	}
	_, rest, _ := strings.Cut(text, "\n")
	return rest, nil
}

// Seconds runs a program that prints the seconds it took.
func (s *Server) Seconds(ctx context.Context, code string) (float64, error) {
	output, err := s.Execute(ctx, code)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(output), 64)
}

// Ready waits until the program runs: until the servers behind this one have
// connected, for servers that do not wait for them.
func (s *Server) Ready(ctx context.Context, code string) error {
	deadline := time.Now().Add(time.Minute)
	for {
		_, err := s.Execute(ctx, code)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, errors.Is(err, clients.ErrExited), time.Now().After(deadline):
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Offers reports whether the server lists a tool of that name.
func (s *Server) Offers(ctx context.Context, name string) (bool, error) {
	raw, err := s.Request(ctx, "tools/list", map[string]any{})
	if err != nil {
		return false, err
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(raw, &list); err != nil {
		return false, fmt.Errorf("tools/list: %w", err)
	}
	for _, t := range list.Tools {
		if t.Name == name {
			return true, nil
		}
	}
	return false, nil
}
