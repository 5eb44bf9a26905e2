package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// asServer makes the test binary be the server.
const asServer = "PTC_TESTSERVER_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for what should come at once.
const patience = 30 * time.Second

// peer is a server as a child process, and the lines it sends.
type peer struct {
	t       *testing.T
	command *exec.Cmd
	stdin   io.WriteCloser
	lines   chan string
	exited  chan error
	stderr  bytes.Buffer
	journal string
}

func start(t *testing.T, args ...string) *peer {
	t.Helper()
	p := &peer{t: t, lines: make(chan string, 10_000), exited: make(chan error, 1), journal: filepath.Join(t.TempDir(), "journal")}
	p.command = exec.CommandContext(t.Context(), os.Args[0], args...)
	p.command.Env = append(os.Environ(), asServer+"=1", journalVariable+"="+p.journal)
	p.command.Stderr = &p.stderr
	stdin, err := p.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		reader := bufio.NewReader(stdout)
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				break
			}
			p.lines <- strings.TrimSpace(line)
		}
		close(p.lines)
		p.exited <- p.command.Wait()
	}()
	t.Cleanup(func() {
		_ = p.stdin.Close()
		_ = p.command.Process.Kill()
		for range p.lines {
		}
	})
	return p
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) receive() string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the server's output has ended")
		}
		return line
	case <-time.After(patience):
		p.t.Fatal("the server does not answer")
	}
	return ""
}

func (p *peer) expect(want string) {
	p.t.Helper()
	if got := p.receive(); got != want {
		p.t.Errorf("got  %s\nwant %s", got, want)
	}
}

// waitForJournal waits until the journal has a line with the text.
func (p *peer) waitForJournal(text string) string {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		data, err := os.ReadFile(p.journal)
		if err != nil && !os.IsNotExist(err) {
			p.t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, text) && strings.HasSuffix(line, "\n") {
				return line
			}
		}
		<-time.After(5 * time.Millisecond)
	}
	p.t.Fatalf("the journal has no line with %s", text)
	return ""
}

func toolCall(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

func TestToolsAnswerAsTheyPromise(t *testing.T) {
	tests := map[string]struct{ tool, arguments, result string }{
		"echo returns a string as it is": {"echo", `{"message":"a \u00e9 \"b\""}`, `{"content":[{"type":"text","text":"a \u00e9 \"b\""}]}`},
		"mirror returns a value as JSON": {"mirror", `{"value":{"a":[1]}}`, `{"content":[{"type":"text","text":"{\"a\":[1]}"}]}`},
		"echo wants a message":           {"echo", `{}`, `{"isError":true,"content":[{"type":"text","text":"message must be a string"}]}`},
		"add has structured output":      {"add", `{"a":1,"b":2.5}`, `{"content":[{"type":"text","text":"{\"sum\":3.5}"}],"structuredContent":{"sum":3.5}}`},
		"increment counts":               {"increment", `{"by":2}`, `{"content":[{"type":"text","text":"{\"counter\":2}"}],"structuredContent":{"counter":2}}`},
		"blob gives text":                {"blob", `{"size":3}`, `{"content":[{"type":"text","text":"xxx"}]}`},
		"blob gives structured content":  {"blob", `{"size":2,"as":"structured"}`, `{"content":[],"structuredContent":{"blob":"xx"}}`},
		"blob gives records":             {"blob", `{"size":1,"as":"records"}`, `{"content":[],"structuredContent":{"records":[` + record + `]}}`},
		"list_items repeats each item":   {"list_items", `{"count":1}`, `{"content":[{"text":"{\"id\":0,\"name\":\"item \"}","type":"text"}],"structuredContent":{"result":[{"id":0,"name":"item "}]}}`},
		"fail fails":                     {"fail", `{}`, `{"isError":true,"content":[{"type":"text","text":"call 1 fails on purpose"}]}`},
		"bad_output breaks its schema":   {"bad_output", `{}`, `{"content":[{"type":"text","text":"{\"count\":\"many\"}"}],"structuredContent":{"count":"many"}}`},
		"a keyword is a name":            {"class", `{}`, `{"content":[{"type":"text","text":"class"}]}`},
		"a-b is not a_b":                 {"a-b", `{}`, `{"content":[{"type":"text","text":"a-b"}]}`},
		"a_b is not a-b":                 {"a_b", `{}`, `{"content":[{"type":"text","text":"a_b"}]}`},
		"sleep ends":                     {"sleep", `{"seconds":0}`, `{"content":[{"type":"text","text":"slept"}]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			p.send(toolCall(1, test.tool, test.arguments))
			p.expect(`{"jsonrpc":"2.0","id":1,"result":` + test.result + `}`)
		})
	}
}

func TestFailuresAreJSONRPCErrors(t *testing.T) {
	p := start(t)
	p.send(toolCall(1, "rpc_error", `{"code":-5,"message":"no"}`))
	p.expect(`{"error":{"code":-5,"message":"no","data":{"on":"purpose"}},"id":1,"jsonrpc":"2.0"}`)
	p.send(toolCall(2, "nowhere", `{}`))
	p.expect(`{"error":{"code":-32602,"message":"unknown tool \"nowhere\""},"id":2,"jsonrpc":"2.0"}`)
	p.send(`{"jsonrpc":"2.0","id":"three","method":"server/discover"}`)
	p.expect(`{"error":{"code":-32601,"message":"method \"server/discover\" not found"},"id":"three","jsonrpc":"2.0"}`)
	p.send(`{not JSON`)
	if got := p.receive(); !strings.Contains(got, `"code":-32700`) || !strings.Contains(got, `"id":null`) {
		t.Error(got)
	}
	p.send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	p.expect(`{"jsonrpc":"2.0","id":4,"result":{}}`)
}

func TestEveryThirdCallFails(t *testing.T) {
	p := start(t)
	failed := 0
	for id := 1; id <= 9; id++ {
		p.send(toolCall(id, "fail", `{"every":3}`))
		if strings.Contains(p.receive(), `"isError":true`) {
			failed++
		}
	}
	if failed != 3 {
		t.Errorf("%d of 9 calls failed", failed)
	}
}

func TestACancelledSleepIsRecordedAndNotAnswered(t *testing.T) {
	log := filepath.Join(t.TempDir(), "cancelled")
	p := start(t, "-cancel-log", log)
	p.send(toolCall(1, "sleep", `{"seconds":300}`))
	p.waitForJournal(`{"event":"called","tool":"sleep","arguments":{"seconds":300},"id":1}`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	p.waitForJournal(`{"event":"cancelled","tool":"sleep","id":1}`)
	if data, err := os.ReadFile(log); err != nil || string(data) != `{"event":"cancelled","tool":"sleep","id":1}`+"\n" {
		t.Errorf("the log has %q, %v", data, err)
	}
	p.send(toolCall(2, "echo", `{"message":"next"}`))
	p.expect(`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"next"}]}}`)
}

func TestCallsGoOnWhileOthersSleep(t *testing.T) {
	p := start(t)
	for id := range 50 {
		p.send(toolCall(1000+id, "sleep", `{"seconds":300}`))
	}
	p.send(toolCall(1, "echo", `{"message":"x"}`))
	p.expect(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"}]}}`)
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-p.exited; err != nil { // the sleepers must not hold it up
		t.Error(err)
	}
}

// list returns the definitions of all pages.
func (p *peer) list() []definition {
	p.t.Helper()
	var all []definition
	for cursor := ""; ; {
		p.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list","params":{"cursor":"` + cursor + `"}}`)
		var reply struct {
			Result struct {
				Tools      []definition
				NextCursor string
			}
		}
		if err := json.Unmarshal([]byte(p.receive()), &reply); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, reply.Result.Tools...)
		if cursor = reply.Result.NextCursor; cursor == "" {
			return all
		}
	}
}

func TestGeneratedToolsAreListedInPagesAndCallable(t *testing.T) {
	p := start(t, "-tools", "1000", "-page-size", "300", "-odd-schemas")
	names := map[string]bool{}
	for _, d := range p.list() {
		if names[d.Name] {
			t.Errorf("%s is listed twice", d.Name)
		}
		names[d.Name] = true
		if !json.Valid(d.InputSchema) {
			t.Errorf("%s: the input schema is no JSON", d.Name)
		}
	}
	for _, name := range []string{"echo", "get-user.v2", "odd_boolean", "list_issue_0001", "update_file_0999"} {
		if !names[name] {
			t.Errorf("%s is not listed", name)
		}
	}
	p.send(toolCall(1, "update_file_0999", `{}`))
	p.expect(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"tool\":\"update_file_0999\"}"}],"structuredContent":{"tool":"update_file_0999"}}}`)
}

func TestAChangedListIsAnnounced(t *testing.T) {
	p := start(t, "echo", "-change")
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.send(toolCall(1, "change", `{"add":"late","remove":"echo"}`))
	p.expect(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`)
	p.expect(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"changed"}]}}`)
	names := map[string]bool{}
	for _, d := range p.list() {
		names[d.Name] = true
	}
	if !names["late"] || names["echo"] {
		t.Errorf("the list is %v", names)
	}
	p.send(toolCall(2, "late", `{}`))
	p.expect(`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"this is late"}]}}`)
	for _, there := range []bool{true, false} {
		p.send(toolCall(3, "change", `{}`))
		p.receive()
		p.receive()
		if got := slices.ContainsFunc(p.list(), func(d definition) bool { return d.Name == "added" }); got != there {
			t.Errorf("the tool added is listed: %t", got)
		}
	}
}

func TestTheModernEraHasNoHandshake(t *testing.T) {
	p := start(t, "-era", "modern", "-change")
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	if got := p.receive(); !strings.Contains(got, "-32601") {
		t.Error(got)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{` + meta + `}}`)
	if got := p.receive(); !strings.Contains(got, `"supportedVersions":["2026-07-28"]`) || !strings.Contains(got, `"resultType":"complete"`) {
		t.Error(got)
	}
	p.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x"},` + meta + `}}`)
	p.expect(`{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","content":[{"type":"text","text":"x"}]}}`)
	p.send(`{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`)
	p.expect(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":4},"notifications":{"toolsListChanged":true}}}`)
	p.send(toolCall(5, "change", `{"add":"late"}`))
	p.expect(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":4}}}`)
}

func TestFaultsHappenOnDemand(t *testing.T) {
	t.Run("it dies on a call, once", func(t *testing.T) {
		marker := filepath.Join(t.TempDir(), "died")
		p := start(t, "-die-on-call", "echo", "-die-once", marker)
		p.send(toolCall(1, "counter", `{}`))
		p.receive()
		p.send(toolCall(2, "echo", `{"message":"1"}`))
		if err := <-p.exited; p.command.ProcessState.ExitCode() != 3 {
			t.Fatalf("ended with %v", err)
		}
		p = start(t, "-die-on-call", "echo", "-die-once", marker)
		p.send(toolCall(1, "echo", `{"message":"1"}`))
		p.expect(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"1"}]}}`)
	})
	t.Run("it hangs in initialize and in tools/list", func(t *testing.T) {
		p := start(t, "-hang-initialize", "-hang-list")
		p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
		p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		p.send(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
		p.expect(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	})
	t.Run("it fails to start", func(t *testing.T) {
		p := start(t, "-fail-start", "no licence")
		if err := <-p.exited; err == nil || !strings.Contains(p.stderr.String(), "no licence") {
			t.Errorf("ended with %v: %s", err, p.stderr.String())
		}
	})
	t.Run("its child and it outlive the end of input", func(t *testing.T) {
		p := start(t, "-ignore-end", "-spawn-child")
		var child event
		if err := json.Unmarshal([]byte(p.waitForJournal(`"event":"child"`)), &child); err != nil {
			t.Fatal(err)
		}
		process, err := os.FindProcess(child.PID)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = process.Kill() }()
		if err := p.stdin.Close(); err != nil {
			t.Fatal(err)
		}
		p.waitForJournal(`"event":"input_ended"`)
		for _, alive := range []*os.Process{p.command.Process, process} {
			if err := alive.Signal(os.Interrupt); err != nil {
				t.Errorf("process %d is gone: %v", alive.Pid, err)
			}
		}
		select {
		case err := <-p.exited:
			t.Errorf("the server ended: %v", err)
		case <-time.After(200 * time.Millisecond):
		}
	})
}

// post sends one message over HTTP, with pairs of header names and values.
func post(t *testing.T, url, message string, header ...string) (status int, body string, got http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := http.Client{Timeout: patience}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data), response.Header
}

func TestHTTPSessionsAreForgottenOnDemand(t *testing.T) {
	url := start(t, "-http", "127.0.0.1:0", "-bearer", "abc").receive()
	authorized := []string{"Authorization", "Bearer abc"}
	if status, _, _ := post(t, url, `{}`); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	if status, _, _ := post(t, url, toolCall(1, "echo", `{"message":"1"}`), authorized...); status != http.StatusBadRequest {
		t.Errorf("without a session: %d", status)
	}
	_, _, header := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, authorized...)
	session := append(slices.Clone(authorized), sessionHeader, header.Get(sessionHeader))
	status, body, _ := post(t, url, toolCall(2, "echo", `{"message":"x"}`), session...)
	if want := `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"x"}]}}`; status != http.StatusOK || body != want {
		t.Errorf("got %d %s", status, body)
	}
	if _, body, _ = post(t, url, toolCall(3, "headers", `{}`), session...); !strings.Contains(body, `Bearer abc`) {
		t.Error(body)
	}
	post(t, url, toolCall(4, "forget_sessions", `{}`), session...)
	if status, _, _ := post(t, url, toolCall(5, "echo", `{"message":"1"}`), session...); status != http.StatusNotFound {
		t.Errorf("after the sessions were forgotten: %d", status)
	}
}

func TestHTTPAnswersWithEventStreamsOnDemand(t *testing.T) {
	url := start(t, "-http", "127.0.0.1:0", "-sse-replies", "-era", "modern").receive()
	_, body, header := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","arguments":{"steps":1},"_meta":{"progressToken":"p"}}}`,
		"Mcp-Protocol-Version", modernVersion)
	want := "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1,\"progressToken\":\"p\",\"total\":1}}\n\n" +
		"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n\n"
	if header.Get("Content-Type") != "text/event-stream" || body != want {
		t.Errorf("got %v\n%s", header, body)
	}
}

func BenchmarkEcho(b *testing.B) {
	s := newServer(options{era: "legacy"}, &journal{}, &journal{})
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	go func() { _ = serveStdio(s, in, out) }()
	defer toServer.Close()
	reader := bufio.NewReader(fromServer)
	message := []byte(toolCall(1, "echo", `{"message":"hello"}`) + "\n")
	for b.Loop() {
		if _, err := toServer.Write(message); err != nil {
			b.Fatal(err)
		}
		if _, err := reader.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}
