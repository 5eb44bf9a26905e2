package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// directBench is a Direct with one tool, one resource and one prompt.
type directBench struct {
	mu       sync.Mutex
	revision int
}

func (d *directBench) change() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.revision++
}

func (d *directBench) DirectTools(context.Context) []tool.Definition {
	return []tool.Definition{{Name: "mcp__files__read", Raw: json.RawMessage(`{"name":"mcp__files__read","x-own":9007199254740993,"inputSchema":{"type":"object"}}`)}}
}

func (d *directBench) CallDirect(ctx context.Context, name string, arguments json.RawMessage, progress func(json.RawMessage)) (json.RawMessage, bool, error) {
	switch name {
	case "mcp__files__read":
		if progress != nil {
			progress(json.RawMessage(`{"progressToken":"theirs","progress":1,"total":2,"odd":9007199254740993}`))
		}
		return json.RawMessage(`{"content":[{"type":"image","data":"AA","mimeType":"image/png"}],"structuredContent":` + string(arguments) + "}"), true, nil
	case "mcp__files__refuse":
		return nil, true, &tool.RPCError{Code: -32050, Message: "no luck", Data: json.RawMessage(`{"n":9007199254740993}`)}
	case "mcp__files__down":
		return nil, true, tool.Errorf(name, tool.KindConnection, "server is not connected")
	case "mcp__files__ask":
		answer, err := tool.Ask(ctx, tool.Question{Server: "files", Params: arguments})
		if err != nil {
			answer, _ = json.Marshal(err.Error())
		}
		return json.RawMessage(`{"content":[],"structuredContent":{"answer":` + string(answer) + `}}`), true, nil
	case "mcp__files__wait":
		<-ctx.Done()
		return nil, true, tool.Errorf(name, tool.KindCancelled, "cancelled")
	}
	return nil, false, nil
}

func (d *directBench) DirectOffers() (resources, prompts bool) { return true, true }

func (d *directBench) DirectResources(context.Context) []json.RawMessage {
	return []json.RawMessage{json.RawMessage(`{"uri":"a:1","x-own":9007199254740993}`)}
}

func (d *directBench) DirectTemplates(context.Context) []json.RawMessage {
	return []json.RawMessage{json.RawMessage(`{"uriTemplate":"a:{n}"}`)}
}

func (d *directBench) DirectPrompts(context.Context) []json.RawMessage {
	return []json.RawMessage{json.RawMessage(`{"name":"mcp__files__greet"}`)}
}

func (d *directBench) DirectRead(_ context.Context, uri string) (json.RawMessage, bool, error) {
	return json.RawMessage(`{"contents":[{"uri":"a:1","text":"one"}]}`), uri == "a:1", nil
}

func (d *directBench) DirectPrompt(_ context.Context, name string, arguments map[string]string) (json.RawMessage, bool, error) {
	return json.RawMessage(fmt.Sprintf(`{"messages":[],"description":%q}`, arguments["who"])), name == "mcp__files__greet", nil
}

func (d *directBench) DirectComplete(_ context.Context, params json.RawMessage) (json.RawMessage, bool, error) {
	return json.RawMessage(`{"completion":{"values":["Ada"],"total":9007199254740993}}`), strings.Contains(string(params), `"mcp__files__greet"`), nil
}

func (d *directBench) DirectState() tool.DirectState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return tool.DirectState{Tools: fmt.Sprint(d.revision), Prompts: fmt.Sprint(d.revision / 2)}
}

const (
	legacyHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	modernMeta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
)

func directServer(t *testing.T) (*directBench, *Server) {
	t.Helper()
	b, d := newBench(t), &directBench{}
	opts := b.Server.opts
	opts.Direct, opts.CallTimeout = d, time.Minute
	return d, New(b.servers, b.runs, opts)
}

func TestDirectRequestsPassThroughInBothEras(t *testing.T) {
	for _, era := range []struct{ name, meta string }{{"legacy", `"_meta":{}`}, {"modern", modernMeta}} {
		_, server := directServer(t)
		c := connect(t, server)
		if era.name == "legacy" {
			c.send("%s", legacyHello)
			if hello := c.line(); !strings.Contains(hello, `"tools":{"listChanged":true}`) || !strings.Contains(hello, `"resources":{"subscribe":true,"listChanged":true}`) || !strings.Contains(hello, `"prompts":{"listChanged":true}`) {
				t.Errorf("initialize: %s", hello)
			}
			c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		}
		for _, test := range []struct {
			name, method, params string
			want                 []string
		}{
			{"tools beside the own ones", "tools/list", ``, []string{`"execute_program"`, `{"name":"mcp__files__read","x-own":9007199254740993,"inputSchema":{"type":"object"}}`}},
			{"a call", "tools/call", `"name":"mcp__files__read","arguments":{"n":9007199254740993},`, []string{`"content":[{"type":"image","data":"AA","mimeType":"image/png"}]`, `"structuredContent":{"n":9007199254740993}`}},
			{"an error of the server", "tools/call", `"name":"mcp__files__refuse",`, []string{`"error":{"code":-32050,"message":"no luck","data":{"n":9007199254740993}}`}},
			{"a server that is down", "tools/call", `"name":"mcp__files__down",`, []string{`"isError":true`, "server is not connected"}},
			{"a tool for programs only", "tools/call", `"name":"mcp__github__list_issues",`, []string{`"error":{"code":-32602`, "not found"}},
			{"resources", "resources/list", ``, []string{`{"uri":"a:1","x-own":9007199254740993}`}},
			{"templates", "resources/templates/list", ``, []string{`{"uriTemplate":"a:{n}"}`}},
			{"a resource", "resources/read", `"uri":"a:1",`, []string{`"contents":[{"uri":"a:1","text":"one"}]`}},
			{"a resource nobody has", "resources/read", `"uri":"a:9",`, []string{`"error":{"code":-32`}},
			{"prompts", "prompts/list", ``, []string{`{"name":"mcp__files__greet"}`}},
			{"a prompt", "prompts/get", `"name":"mcp__files__greet","arguments":{"who":"Ada"},`, []string{`"description":"Ada"`}},
			{"a prompt nobody has", "prompts/get", `"name":"greet",`, []string{`"error":{"code":-32602`}},
			{"a completion", "completion/complete", `"ref":{"type":"ref/prompt","name":"mcp__files__greet"},"argument":{"name":"who","value":"A"},`, []string{`"completion":{"values":["Ada"],"total":9007199254740993}`}},
			{"a completion for nobody", "completion/complete", `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"A"},`, []string{`"completion":{"values":[]`}},
			{"an own completion", "completion/complete", `"ref":{"type":"ref/resource","uri":"ptc://servers/{server}"},"argument":{"name":"server","value":"g"},`, []string{`"completion":{"values":["github"]`}},
			{"an own tool", "tools/call", `"name":"execute_program","arguments":{"code":"print hi"},`, []string{"[Script executed successfully]"}},
		} {
			c.send(`{"jsonrpc":"2.0","id":"q","method":%q,"params":{%s%s}}`, test.method, test.params, era.meta)
			got := c.line()
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s, %s: got %s, want %s", era.name, test.name, got, want)
				}
			}
			isError := strings.Contains(got, `"error":{`)
			if marked := strings.Contains(got, `"resultType":"complete"`); !isError && marked != (era.name == "modern") {
				t.Errorf("%s, %s: marked as complete: %v in %s", era.name, test.name, marked, got)
			}
			if test.name == "a resource" && era.name == "modern" && !strings.Contains(got, `"ttlMs":0`) {
				t.Errorf("a modern read without cache hints: %s", got)
			}
		}
	}
}

func TestDirectProgressHasTheClientsToken(t *testing.T) {
	_, server := directServer(t)
	c := connect(t, server)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp__files__read","arguments":{},"_meta":{"progressToken":7}}}`)
	if got, want := c.line(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"odd":9007199254740993,"progress":1,"progressToken":7,"total":2}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := c.line(); !strings.Contains(got, `"id":1`) {
		t.Errorf("the result after its progress: %s", got)
	}
}

func TestCancellingADirectCallEndsIt(t *testing.T) {
	_, server := directServer(t)
	c := connect(t, server)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp__files__wait"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if got := c.line(); !strings.Contains(got, `"id":2`) {
		t.Errorf("a cancelled call was answered: %s", got)
	}
}

func TestChangesAreToldAsEachEraWantsIt(t *testing.T) {
	d, server := directServer(t)
	legacy, modern := connect(t, server), connect(t, server)
	legacy.send("%s", legacyHello)
	legacy.line()
	legacy.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	legacy.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	legacy.line()
	modern.send(`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},%s}}`, modernMeta)
	if ack := modern.line(); !strings.Contains(ack, "notifications/subscriptions/acknowledged") || !strings.Contains(ack, `"toolsListChanged":true`) {
		t.Fatalf("the acknowledgement: %s", ack)
	}

	d.change() // the tools
	server.CatalogChanged()
	const said = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"`
	if got := legacy.line(); got != said+"}" {
		t.Errorf("a legacy client is told %s", got)
	}
	if got, want := modern.line(), said+`,"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}`; got != want {
		t.Errorf("a modern client is told %s, want %s", got, want)
	}

	d.change() // the tools and the prompts, for which the modern client did not ask
	server.CatalogChanged()
	if first, second := legacy.line(), legacy.line(); first != said+"}" || !strings.Contains(second, "notifications/prompts/list_changed") {
		t.Errorf("a legacy client is told %s and %s", first, second)
	}
	modern.line()
	server.CatalogChanged() // nothing
	modern.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}`)
	modern.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{%s}}`, modernMeta)
	if got := modern.line(); !strings.Contains(got, `"id":2`) {
		t.Errorf("a modern client is told %s", got)
	}
}
