package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// mail is a server with two tools.
func mail() *fakeServer {
	return newFake("my-mail",
		downstream.Tool{Name: "send-mail", Description: "Sends a message. To anybody.", InputSchema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}`)},
		downstream.Tool{Name: "listFolders", Title: "List folders", InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
}

func TestProgramsDiscoverTools(t *testing.T) {
	down := newConnecting("d")
	down.down(errors.New("exit status 1"))
	r := newRegistry(t, Options{}, mail(), down)
	const (
		send = `{"name":"mcp__my_mail__send_mail","server":"my-mail","signature":"mcp__my_mail__send_mail(*, to: str) -> Any","description":"Sends a message"}`
		list = `{"name":"mcp__my_mail__listFolders","server":"my-mail","signature":"mcp__my_mail__listFolders() -> Any","description":"List folders"}`
	)
	for _, test := range []struct{ function, arguments, want string }{
		{tool.ListCallableTools, `{"server":"My_Mail"}`, `["mcp__my_mail__listFolders","mcp__my_mail__send_mail"]`},
		{tool.ListCallableTools, `{"detail":"names"}`, `["mcp__my_mail__listFolders","mcp__my_mail__send_mail"]`},
		{tool.ListCallableTools, `{"server":"d"}`, `[]`},
		{tool.ListCallableTools, `{"detail":"signatures"}`, `[` + list + `,` + send + `]`},
		{tool.SearchTools, `{"query":"send it"}`, `{"tools":[` + send + `],"total":1,"searched":2,"not_connected":{"d":"exit status 1"}}`},
		{tool.SearchTools, `{"query":"folders","limit":1,"server":null}`, `{"tools":[` + list + `],"total":1,"searched":2,"not_connected":{"d":"exit status 1"}}`},
		{tool.SearchTools, `{"query":"send","server":"d"}`, `{"tools":[],"total":0,"searched":0,"not_connected":{"d":"exit status 1"}}`},
	} {
		got, err := r.CallTool(t.Context(), test.function, json.RawMessage(test.arguments))
		if err != nil || string(got) != test.want {
			t.Errorf("%s(%s): got %s, %v\nwant %s", test.function, test.arguments, got, err, test.want)
		}
	}
}

func TestProgramsInspectSeveralTools(t *testing.T) {
	r := newRegistry(t, Options{}, mail())
	raw, err := r.CallTool(t.Context(), tool.InspectTool, json.RawMessage(`{"tool_name":["my-mail.send-mail","nope","listFolders"]}`))
	var got []struct{ Name, Error, Description string }
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err != nil || len(got) != 3 || got[0].Name != "mcp__my_mail__send_mail" || got[2].Name != "mcp__my_mail__listFolders" {
		t.Fatalf("got %s, %v", raw, err)
	}
	if got[1].Name != "nope" || !strings.Contains(got[1].Error, "no such tool") {
		t.Errorf("the unknown one: %+v", got[1])
	}
	raw, err = r.CallTool(t.Context(), tool.InspectTool, json.RawMessage(`{"tool_name":"send-mail","format":"python"}`))
	var text string
	if err == nil {
		err = json.Unmarshal(raw, &text)
	}
	if err != nil || !strings.Contains(text, "async def send_mail(\n    *,\n    to: str,\n") {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestWrongArgumentsOfDiscoverySayWhatIsRight(t *testing.T) {
	r := newRegistry(t, Options{}, mail())
	for _, test := range []struct{ function, arguments, says string }{
		{tool.ListCallableTools, `{"detail":"all"}`, `detail must be "names" or "signatures", not "all"`},
		{tool.ListCallableTools, `{"detail":1}`, `detail must be a string, not number`},
		{tool.ListCallableTools, `{"server":"my-mial"}`, `no such server; did you mean my-mail?`},
		{tool.ListCallableTools, `{"server":"other","detail":"signatures"}`, `no such server; configured are my-mail`},
		{tool.SearchTools, `{}`, `query is missing`},
		{tool.SearchTools, `{"query":["x"]}`, `query must be a string, not array`},
		{tool.SearchTools, `{"query":"x","limit":"3"}`, `limit must be a number, not string`},
		{tool.SearchTools, `{"query":"x","limit":-1}`, `limit must be 1 or more`},
		{tool.SearchTools, `{"query":"` + strings.Repeat("x", tool.MaxQuery+1) + `"}`, `query has 1001 bytes`},
		{tool.SearchTools, `{"query":"x","server":"other"}`, `no such server`},
		{tool.InspectTool, `{"tool_name":[]}`, `tool_name must be a name or a list of names`},
		{tool.InspectTool, `{"tool_name":[1]}`, `tool_name must be a name or a list of names`},
		{tool.InspectTool, `{"tool_name":["nope","neither"]}`, `nope: no such tool`},
		{tool.InspectTool, `{"tool_name":["x"` + strings.Repeat(`,"x"`, tool.MaxInspected) + `]}`, `51 names are too many`},
		{tool.InspectTool, `{"tool_name":"send-mail","format":"xml"}`, `format must be "json" or "python", not "xml"`},
	} {
		_, err := r.CallTool(t.Context(), test.function, json.RawMessage(test.arguments))
		if te := toolError(t, err); !strings.Contains(te.Message, test.says) {
			t.Errorf("%s(%.60s): got %q, want …%s…", test.function, test.arguments, te.Message, test.says)
		}
	}
	_, err := newRegistry(t, Options{}).List("x")
	if te := toolError(t, err); !strings.Contains(te.Message, "none is configured") {
		t.Errorf("without servers: %q", te.Message)
	}
}

func TestASearchSeesAChangedListAtOnce(t *testing.T) {
	s := mail()
	r := newRegistry(t, Options{}, s)
	find := func(query string) string {
		t.Helper()
		found, err := r.Search(query, 1, "")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(found.Searched, found.Tools)
	}
	if got := find("weather"); got != "2 []" {
		t.Errorf("before: %s", got)
	}
	s.up(downstream.Tool{Name: "weather", InputSchema: json.RawMessage(`{}`)})
	if got := find("weather"); !strings.HasPrefix(got, "1 [{mcp__my_mail__weather ") {
		t.Errorf("after a change: %s", got)
	}
	s.down(errors.New("gone"))
	if got := find("weather"); got != "0 []" {
		t.Errorf("after a death: %s", got)
	}
}

func TestACallOfAWithdrawnToolSaysSo(t *testing.T) {
	s := mail()
	r := newRegistry(t, Options{}, s)
	s.up(named("other")...)
	s.up(named("another")...)
	_, err := r.CallTool(t.Context(), "mcp__my_mail__send_mail", nil)
	if te := toolError(t, err); te.Kind != tool.KindUnknown || !strings.Contains(te.Message, `server "my-mail" withdrew this tool from its list 1s ago`) {
		t.Errorf("got %+v", te)
	}
	s.up(named("send-mail")...)
	if _, err := r.Inspect("mcp__my_mail__send_mail"); err != nil {
		t.Errorf("back again: %v", err)
	}
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprint("t", i)
	}
	s.up(named(many...)...)
	s.up()
	if n := len(r.current.Load().views[0].tools.withdrawn); n != maxWithdrawn {
		t.Errorf("%d tools are remembered", n)
	}
}
