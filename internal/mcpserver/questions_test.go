package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

const (
	askingHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`
	askingMeta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`
	theQuestion = `{"message":"Sure?","requestedSchema":{"type":"object","properties":{"z":{"type":"boolean"},"a":{"type":"string"}}}}`
	askedParams = `{"message":"Server \"files\" asks: Sure?","requestedSchema":{"type":"object","properties":{"z":{"type":"boolean"},"a":{"type":"string"}}}}`
)

func TestALegacyClientIsAskedByARequest(t *testing.T) {
	_, server := directServer(t)
	c := connect(t, server)
	c.send("%s", askingHello)
	c.line()
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if form, url := server.Elicitation(); !form || url {
		t.Errorf("known to answer forms %v, pages %v", form, url)
	}
	for _, tt := range []struct{ response, want string }{
		{`"result":{"action":"accept","content":{"z":true}}`, `"answer":{"action":"accept","content":{"z":true}}`},
		{`"error":{"code":-32603,"message":"no window"}`, `"answer":"the client answered with an error: no window"`},
		{`"result":{"action":"perhaps"}`, `neither accept nor decline nor cancel`},
	} {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp__files__ask","arguments":%s}}`, theQuestion)
		var asked struct {
			ID     string
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal([]byte(c.line()), &asked); err != nil || asked.Method != "elicitation/create" || string(asked.Params) != askedParams {
			t.Fatalf("asked %+v, %s, %v", asked, asked.Params, err)
		}
		c.send(`{"jsonrpc":"2.0","id":%q,%s}`, asked.ID, tt.response)
		if got := c.line(); !strings.Contains(got, `"id":1`) || !strings.Contains(got, tt.want) {
			t.Errorf("%s came to %s", tt.response, got)
		}
		c.send(`{"jsonrpc":"2.0","id":%q,%s}`, asked.ID, tt.response) // nobody waits any more
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"mcp__files__ask","arguments":%s}}`, theQuestion)
	c.line()
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	if got := c.line(); !strings.Contains(got, `"method":"notifications/cancelled","params":{"requestId":"ask-4"}`) {
		t.Errorf("the question of a cancelled call: %s", got)
	}
}

func TestAModernClientIsAskedByAResult(t *testing.T) {
	_, server := directServer(t)
	c := connect(t, server)
	call := func(id, more string) string {
		c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"mcp__files__ask","arguments":%s,%s%s}}`, id, theQuestion, more, askingMeta)
		return c.line()
	}
	state := func(response string) string {
		var r struct {
			Result struct {
				ResultType    string
				RequestState  string
				InputRequests map[string]struct {
					Method string
					Params json.RawMessage
				}
			}
		}
		q := &r.Result
		if err := json.Unmarshal([]byte(response), &r); err != nil || q.ResultType != "input_required" || q.InputRequests["question"].Method != "elicitation/create" || string(q.InputRequests["question"].Params) != askedParams {
			t.Fatalf("asked by %s, %v", response, err)
		}
		return q.RequestState
	}
	first := state(call("1", ""))
	second := state(call(`"x"`, ""))
	answer := func(state, action string) string {
		return fmt.Sprintf(`"requestState":%q,"inputResponses":{"question":{"action":%q}},`, state, action)
	}
	if got := call("2", answer(second, "decline")); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":2,"result":`) || !strings.Contains(got, `"answer":{"action":"decline"}`) || !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("the second call gave %s", got)
	}
	if got := call("3", answer(first, "accept")); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":3,`) || !strings.Contains(got, `"answer":{"action":"accept"}`) {
		t.Errorf("the first call gave %s", got)
	}
	for _, stale := range []string{first, "forged"} {
		if got := call("4", answer(stale, "accept")); !strings.Contains(got, `"error":{"code":-32602`) || !strings.Contains(got, "make the call anew") {
			t.Errorf("a state of no call: %s", got)
		}
	}
	if got := call("5", answer(state(call("6", "")), "perhaps")); !strings.Contains(got, "neither accept nor decline nor cancel") {
		t.Errorf("a wrong answer: %s", got)
	}
}

func TestWhoCannotBeAskedIsNot(t *testing.T) {
	_, server := directServer(t)
	c := connect(t, server)
	c.send("%s", legacyHello)
	c.line()
	for _, meta := range []string{`"_meta":{}`, modernMeta} {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp__files__ask","arguments":%s,%s}}`, theQuestion, meta)
		if got := c.line(); !strings.Contains(got, `"answer":"`) || !strings.Contains(got, "the client cannot ask its user") {
			t.Errorf("%s: %s", meta, got)
		}
	}
}

func TestWhatOfAQuestionIsPassedOn(t *testing.T) {
	forms, pages := answerable{form: true}, answerable{form: true, url: true}
	for _, tt := range []struct {
		name   string
		can    answerable
		params string
		want   string // of the message, or of the error
		nobody bool
	}{
		{"a form", forms, `{"message":"Sure?"}`, `Server "my \"bank\"" asks: Sure?`, false},
		{"one that hides what it is", forms, "{\"message\":\"a\\u202eb\\u0007\\u200bc\\nd\"}", "asks: abc\nd", false},
		{"a page", pages, `{"mode":"url","message":"Sign in","url":"https://example.com/x","elicitationId":"1"}`, "asks: Sign in", false},
		{"a page for a client that shows forms", forms, `{"mode":"url","message":"Sign in","url":"https://example.com/x"}`, "wants a page opened", true},
		{"a file for a page", pages, `{"mode":"url","message":"Open","url":"file:///etc/passwd"}`, "no web page", false},
		{"a script for a page", pages, `{"mode":"url","message":"Open","url":"javascript:alert(1)"}`, "no web page", false},
		{"two addresses", pages, `{"mode":"url","message":"Open","url":"javascript:alert(1)","URL":"https://example.com"}`, "no web page", false},
		{"a message that is no text", forms, `{"message":1}`, "cannot be read", false},
		{"an unknown mode", pages, `{"mode":"voice","message":"Say"}`, "unknown mode", false},
		{"nonsense", pages, `[]`, "cannot be read", false},
		{"nothing", pages, `null`, "cannot be read", false},
		{"much", pages, `{"message":"` + strings.Repeat("x", maxQuestionBytes) + `"}`, "at most 65536", false},
	} {
		params, err := tt.can.question(tool.Question{Server: `my "bank"`, Params: json.RawMessage(tt.params)})
		var asked struct{ Message string }
		if err == nil {
			if err := json.Unmarshal(params, &asked); err != nil {
				t.Fatal(err)
			}
		} else {
			asked.Message = err.Error()
		}
		if !strings.Contains(asked.Message, tt.want) || errors.Is(err, tool.ErrNobodyToAsk) != tt.nobody {
			t.Errorf("%s: %q, %v", tt.name, asked.Message, err)
		}
	}
}
