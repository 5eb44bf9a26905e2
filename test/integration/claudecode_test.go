package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// scriptedModel is a Messages API whose model does what a script says: one
// call of a tool after the other, then a word.
type scriptedModel struct {
	*httptest.Server
	calls []toolUse
	// meanwhile is called while the tool that is next is not offered yet:
	// Claude Code asks for the first turn before its servers are there.
	meanwhile toolUse

	mu      sync.Mutex
	results []string // of the script's calls, as they came back
	waits   int
	failure error
}

type toolUse struct {
	Name  string
	Input any
}

func newScriptedModel(t *testing.T, meanwhile toolUse, calls ...toolUse) *scriptedModel {
	m := &scriptedModel{meanwhile: meanwhile, calls: calls}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

func (m *scriptedModel) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" {
		http.NotFound(w, r) // such as its question whether the address is reachable
		return
	}
	if err := m.answer(w, r.Body); err != nil {
		m.mu.Lock()
		m.failure = errors.Join(m.failure, err)
		m.mu.Unlock()
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// messagesRequest is what the script needs of a request.
type messagesRequest struct {
	Stream   bool `json:"stream"`
	Tools    []struct{ Name string }
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

// answer makes the next call of the script, counted by the results that the
// conversation holds.
func (m *scriptedModel) answer(w http.ResponseWriter, body io.Reader) error {
	var request messagesRequest
	if err := json.NewDecoder(body).Decode(&request); err != nil {
		return err
	}
	block, delta, stop := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": "done"}, "end_turn"
	if id, call, err := m.next(request); err != nil {
		return err
	} else if call != nil {
		input, err := json.Marshal(call.Input)
		if err != nil {
			return err
		}
		block = map[string]any{"type": "tool_use", "id": id, "name": call.Name, "input": map[string]any{}}
		delta, stop = map[string]any{"type": "input_json_delta", "partial_json": string(input)}, "tool_use"
	}
	usage := map[string]any{"input_tokens": 10, "output_tokens": 10}
	if !request.Stream {
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "stop_reason": "end_turn", "usage": usage,
			"content": []any{map[string]any{"type": "text", "text": "done"}},
		})
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range []map[string]any{
		{"type": "message_start", "message": map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": []any{}, "usage": usage,
		}},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": map[string]any{"stop_reason": stop}, "usage": usage},
		{"type": "message_stop"},
	} {
		data, err := json.Marshal(event)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], data); err != nil {
			return err
		}
	}
	return nil
}

// next is the call that the conversation in a request has come to; nil at the
// script's end, and for requests that offer no tools.
func (m *scriptedModel) next(request messagesRequest) (id string, call *toolUse, err error) {
	if len(request.Tools) == 0 {
		return "", nil, nil
	}
	var results []string
	for _, message := range request.Messages {
		var blocks []struct {
			Type    string
			ID      string `json:"tool_use_id"`
			Content json.RawMessage
		}
		if json.Unmarshal(message.Content, &blocks) != nil {
			continue // plain text
		}
		for _, block := range blocks {
			if block.Type == "tool_result" && strings.HasPrefix(block.ID, "toolu_script_") {
				results = append(results, string(block.Content))
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.results = results
	if len(results) >= len(m.calls) {
		return "", nil, nil
	}
	call = &m.calls[len(results)]
	if !slices.ContainsFunc(request.Tools, func(tool struct{ Name string }) bool { return tool.Name == call.Name }) {
		if m.waits++; m.waits > 500 {
			return "", nil, fmt.Errorf("the tool %s was never offered", call.Name)
		}
		return fmt.Sprintf("toolu_wait_%d", m.waits), &m.meanwhile, nil
	}
	return fmt.Sprintf("toolu_script_%d", len(results)), call, nil
}

// claudeAccount is a home folder with Claude Code on PATH.
type claudeAccount struct {
	t            *testing.T
	home, folder string
	env          []string
}

func newClaudeAccount(t *testing.T) *claudeAccount {
	bin := filepath.Join(repository, "test/clients/claude-code/node_modules/.bin")
	if _, err := os.Stat(filepath.Join(bin, "claude")); err != nil {
		t.Fatalf("Claude Code is not there; install it with test/setup/npm.sh test/clients/claude-code: %v", err)
	}
	a := &claudeAccount{t: t, home: t.TempDir(), folder: t.TempDir()}
	a.env = []string{
		"HOME=" + a.home, "PATH=" + strings.Join([]string{filepath.Dir(ptcMCP), bin, os.Getenv("PATH")}, string(os.PathListSeparator)),
		"ANTHROPIC_API_KEY=none", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"TMPDIR=" + os.TempDir(), "USER=" + os.Getenv("USER"),
	}
	return a
}

// run runs a command of the account, which must succeed.
func (a *claudeAccount) run(env []string, name string, args ...string) string {
	a.t.Helper()
	cmd := exec.CommandContext(a.t.Context(), a.look(name), args...)
	cmd.Env, cmd.Dir = slices.Concat(a.env, env), a.folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		a.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, tail(string(out), 8<<10))
	}
	return string(out)
}

// look finds a command on the account's PATH.
func (a *claudeAccount) look(name string) string {
	if name == "claude" {
		return filepath.Join(repository, "test/clients/claude-code/node_modules/.bin/claude")
	}
	return ptcMCP
}

func (a *claudeAccount) write(path, text string) {
	a.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// The whole way of a user: a server in Claude Code, init, and a session whose
// model finds, inspects and uses that server's tool in a program.
func TestTheRealClaudeCodeUsesWhatInitWrote(t *testing.T) {
	a := newClaudeAccount(t)
	config := filepath.Join(a.home, ".config/ptc-mcp/config.yaml")
	a.write(config, "# mine\nexecution:\n  sandbox: native\n")
	a.run(nil, "claude", "mcp", "add", "--scope", "user", "shop", "--env", "PTC_TESTSERVER_JOURNAL="+filepath.Join(a.home, "journal"), "--", testServer)
	a.run(nil, "ptc-mcp", "init", "--yes", "--register", "claude-code", "--take-over")
	if text, err := os.ReadFile(config); err != nil || !strings.HasPrefix(string(text), "# mine\nexecution:\n  sandbox: native\n") || !strings.Contains(string(text), "name: shop") {
		t.Errorf("the configuration is %s, %v", text, err)
	}

	list := a.run(nil, "claude", "mcp", "list")
	if !strings.Contains(list, "ptc:") || !strings.Contains(list, "Connected") || strings.Contains(list, "shop:") {
		t.Errorf("claude mcp list says\n%s", list)
	}

	note := filepath.Join(a.folder, "note.txt")
	a.write(note, "nothing")
	model := newScriptedModel(t,
		toolUse{"Read", map[string]any{"file_path": note}},
		toolUse{"mcp__ptc__search_tools", map[string]any{"query": "add two numbers"}},
		toolUse{"mcp__ptc__inspect_tool", map[string]any{"tool_name": "mcp__shop__add"}},
		toolUse{"mcp__ptc__execute_program", map[string]any{"code": "print([(await mcp__shop__add(a=n, b=n))['sum'] for n in range(4)])"}},
	)
	out := a.run([]string{"ANTHROPIC_BASE_URL=" + model.URL}, "claude", "-p", "Add some numbers.",
		"--output-format", "stream-json", "--verbose", "--allowedTools", "mcp__ptc")
	model.mu.Lock()
	defer model.mu.Unlock()
	wants := []string{"mcp__shop__add", "Add two numbers.", "[0, 2, 4, 6]"}
	if len(model.results) != len(wants) || model.failure != nil {
		t.Fatalf("the model got %q, %v\n%s", model.results, model.failure, tail(out, 8<<10))
	}
	for i, want := range wants {
		if !strings.Contains(model.results[i], want) {
			t.Errorf("the result of %s lacks %q: %s", model.calls[i].Name, want, model.results[i])
		}
	}
	if !strings.Contains(out, `"subtype":"success","is_error":false`) || !strings.Contains(out, `"result":"done"`) {
		t.Errorf("the session ended otherwise:\n%s", tail(out, 8<<10))
	}
}
