package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

const yes, no = true, false

func hint(b bool) *bool { return &b }

// callTools are a tool of each kind.
func callTools() []downstream.Tool {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"]}`)
	return []downstream.Tool{
		{Name: "read", ReadOnly: hint(yes), InputSchema: schema},
		{Name: "put", Idempotent: hint(yes), ReadOnly: hint(no), InputSchema: schema},
		{Name: "send", InputSchema: schema},
		{Name: "typed", InputSchema: schema, OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}`)},
	}
}

func toolError(t *testing.T, err error) *tool.Error {
	t.Helper()
	var te *tool.Error
	if !errors.As(err, &te) {
		t.Fatalf("got %v, want a *tool.Error", err)
	}
	return te
}

func TestHowACallFails(t *testing.T) {
	isError := `{"isError":true,"content":[` + text("no such file: /x") + "," + text("second") + `]}`
	for _, tt := range []struct {
		name, tool      string
		raw             string
		err             error
		kind            tool.Kind
		retryable, sent bool
		says            []string
	}{
		{"an error result", "read", isError, nil, tool.KindResult, no, yes, []string{"no such file: /x\nsecond", "read(path: str, limit: int = …)"}},
		{"an error result without text", "read", `{"isError":true}`, nil, tool.KindResult, no, yes, []string{"no reason"}},
		{"an error result with structured content", "typed", `{"isError":true,"structuredContent":{"code":7}}`, nil, tool.KindResult, no, yes, []string{`{"code":7}`}},
		{"an error of the protocol", "send", "", &downstream.RPCError{Code: -32603, Message: "boom"}, tool.KindProtocol, no, yes, []string{"-32603", "boom"}},
		{"refused arguments", "send", "", &downstream.RPCError{Code: -32602, Message: "bad path"}, tool.KindArguments, no, yes, []string{"bad path", "await mcp__s__send(path: str, limit: int = …)"}},
		{"not connected", "send", "", fmt.Errorf("%w: gone", downstream.ErrDown), tool.KindConnection, yes, no, []string{`"s"`, "gone", "nothing was sent"}},
		{"lost", "send", "", fmt.Errorf("%w: EOF", downstream.ErrLost), tool.KindConnection, no, yes, []string{`"s"`, "EOF", "unknown"}},
		{"lost, idempotent", "put", "", downstream.ErrLost, tool.KindConnection, yes, yes, []string{"idempotent"}},
		{"too large for the transport", "read", "", &downstream.TooLargeError{Limit: 16 << 20}, tool.KindTooLarge, no, yes, []string{"16.0 MiB", "max_tool_result_bytes"}},
		{"too large by name only", "read", "", downstream.ErrTooLarge, tool.KindTooLarge, no, yes, []string{"filter"}},
		{"too large for the registry", "read", `{"structuredContent":{"result":"` + strings.Repeat("x", 1000) + `"}}`, nil, tool.KindTooLarge, no, yes, []string{"1002 bytes", "500 bytes"}},
		{"a deadline", "send", "", context.DeadlineExceeded, tool.KindTimeout, no, yes, []string{"no answer within", "unknown"}},
		{"a deadline, read-only", "read", "", fmt.Errorf("call: %w", context.DeadlineExceeded), tool.KindTimeout, yes, yes, []string{"safe"}},
		{"cancelled", "send", "", context.Canceled, tool.KindCancelled, no, yes, []string{"cancelled"}},
		{"anything else", "send", "", errors.New("strange"), tool.KindProtocol, no, yes, []string{"strange"}},
		{"an answer that is no result", "send", `[1]`, nil, tool.KindProtocol, no, yes, []string{"not a tool result"}},
		{"a result nested too deeply", "send", `{"structuredContent":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, nil, tool.KindSchema, no, yes, []string{"200 levels"}},
		{"a result against its schema", "typed", `{"structuredContent":{"n":"one"}}`, nil, tool.KindSchema, no, yes, []string{"/n", "got string, want integer"}},
		{"a result that misses what its schema requires", "typed", `{"structuredContent":{}}`, nil, tool.KindSchema, no, yes, []string{"'n'"}},
		{"no structured content in spite of a schema", "typed", `{"content":[` + text("1") + `]}`, nil, tool.KindSchema, no, yes, []string{"no structured content"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newFake("s", callTools()...)
			s.does(func(context.Context, int, string, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(tt.raw), tt.err
			})
			r := newRegistry(t, Options{MaxResultBytes: 500}, s)
			value, err := r.CallTool(t.Context(), "mcp__s__"+tt.tool, json.RawMessage(`{"path":"/x"}`))
			if err == nil {
				t.Fatalf("got %s", value)
			}
			te := toolError(t, err)
			if te.Kind != tt.kind || te.Retryable != tt.retryable || te.Sent != tt.sent || te.Tool != "mcp__s__"+tt.tool {
				t.Errorf("got %+v", te)
			}
			for _, want := range append(tt.says, "mcp__s__"+tt.tool+": ") {
				if !strings.Contains(te.Message, want) {
					t.Errorf("%q does not say %q", te.Message, want)
				}
			}
		})
	}
}

func TestAnErrorTextIsBounded(t *testing.T) {
	s := newFake("s", callTools()...)
	r := newRegistry(t, Options{}, s)
	long := strings.Repeat("é", 1<<20)
	for _, f := range []func(){
		func() { s.answers(`{"isError":true,"content":[` + text(long) + "," + text(long) + `]}`) },
		func() { s.answers(`{"isError":true,"structuredContent":{"a":"` + long + `"}}`) },
		func() { s.fails(&downstream.RPCError{Code: 1, Message: long}) },
		func() { s.fails(errors.New(long)) },
	} {
		f()
		_, err := r.CallTool(t.Context(), "mcp__s__read", nil)
		if te := toolError(t, err); len(te.Message) > 6<<10 || !strings.Contains(te.Message, "more bytes)") {
			t.Errorf("a message of %d bytes: %.80q", len(te.Message), te.Message)
		}
	}
}

func TestArgumentsAndToolNameReachTheServerAsTheyAre(t *testing.T) {
	for _, tt := range []struct{ in, want string }{{``, `{}`}, {`null`, `{}`}, {` {"a": 1.0}`, `{"a": 1.0}`}} {
		s := newFake("s", named("list-all")...)
		s.does(func(_ context.Context, _ int, name string, arguments json.RawMessage) (json.RawMessage, error) {
			if name != "list-all" || string(arguments) != tt.want {
				t.Errorf("the server got %s(%s), want list-all(%s)", name, arguments, tt.want)
			}
			return json.RawMessage(`{}`), nil
		})
		if _, err := newRegistry(t, Options{}, s).CallTool(t.Context(), "mcp__s__list_all", json.RawMessage(tt.in)); err != nil {
			t.Error(err)
		}
	}
	s := newFake("s", named("x")...)
	_, err := newRegistry(t, Options{}, s).CallTool(t.Context(), "mcp__s__x", json.RawMessage(`[1]`))
	if te := toolError(t, err); te.Kind != tool.KindArguments || te.Sent || s.made() != 0 {
		t.Errorf("got %+v", te)
	}
}

func TestANameWithoutThePrefixIsNotCalledSoThatEveryCallCounts(t *testing.T) {
	s := newFake("my-server", named("get-user")...).answers(`{}`)
	r := newRegistry(t, Options{}, s)
	_, err := r.CallTool(t.Context(), "my-server.get-user", nil)
	if te := toolError(t, err); te.Kind != tool.KindUnknown || s.made() != 0 || !strings.Contains(te.Message, "mcp__my_server__get_user(") {
		t.Errorf("got %+v", te)
	}
	if _, err := r.CallTool(t.Context(), "mcp__my-server__get-user", nil); err != nil || s.made() != 1 {
		t.Error(err)
	}
}

func TestAReadOnlyCallIsMadeOnceMoreWhenTheServerIsBack(t *testing.T) {
	for _, tt := range []struct {
		tool  string
		calls int
		ok    bool
	}{{"read", 2, yes}, {"send", 1, no}, {"put", 1, no}} {
		t.Run(tt.tool, func(t *testing.T) {
			s := newFake("s", callTools()...)
			s.does(func(_ context.Context, call int, _ string, _ json.RawMessage) (json.RawMessage, error) {
				if call == 1 {
					s.down(errors.New("exit status 1"))
					go s.up(callTools()...)
					return nil, downstream.ErrLost
				}
				return json.RawMessage(`{"structuredContent":{"result":7}}`), nil
			})
			value, err := newRegistry(t, Options{}, s).CallTool(t.Context(), "mcp__s__"+tt.tool, nil)
			if (err == nil) != tt.ok || s.made() != tt.calls || tt.ok && string(value) != "7" {
				t.Errorf("got %s, %v after %d calls", value, err, s.made())
			}
		})
	}
}

func TestTheWaitForALostServerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake("s", callTools()...)
		s.does(func(context.Context, int, string, json.RawMessage) (json.RawMessage, error) {
			s.down(errors.New("exit status 1"))
			return nil, downstream.ErrLost
		})
		r := newRegistry(t, Options{}, s)
		began := time.Now()
		_, err := r.CallTool(t.Context(), "mcp__s__read", nil)
		if te := toolError(t, err); te.Kind != tool.KindConnection || !te.Retryable || !te.Sent || !strings.Contains(te.Message, "exit status 1") {
			t.Errorf("got %+v", te)
		}
		if waited := time.Since(began); waited != reconnectWait {
			t.Errorf("waited %v", waited)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newFake("s", callTools()...)
		s.does(func(context.Context, int, string, json.RawMessage) (json.RawMessage, error) {
			s.down(nil)
			return nil, downstream.ErrLost
		})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := newRegistry(t, Options{}, s).CallTool(ctx, "mcp__s__read", nil)
		if te := toolError(t, err); te.Kind != tool.KindTimeout || !strings.Contains(te.Message, "within 2s") {
			t.Errorf("got %+v", te)
		}
	})
}

func TestAToolOfAServerThatIsDownFailsWithTheReasonNotAsUnknown(t *testing.T) {
	s := newFake("my-server", callTools()...)
	never := newConnecting("never")
	r := newRegistry(t, Options{Block: []string{"*__send"}}, s, never)
	s.down(errors.New("exit status 3\nmore"))
	never.down(errors.New("connection refused"))
	if got := r.Names(); len(got) != 0 {
		t.Errorf("still listed: %q", got)
	}
	for name, want := range map[string]string{
		"mcp__my_server__read": `server "my-server" is not connected (exit status 3)`,
		"mcp__my-server__read": `server "my-server" is not connected (exit status 3)`,
		"mcp__never__anything": `server "never" is not connected (connection refused)`,
	} {
		_, err := r.CallTool(t.Context(), name, nil)
		if te := toolError(t, err); te.Kind != tool.KindConnection || te.Sent || !te.Retryable || !strings.Contains(te.Message, want) {
			t.Errorf("%s: %+v", name, te)
		}
	}
	for _, name := range []string{"mcp__my_server__send", "mcp__my_server__other", "mcp__nobody__x"} {
		_, err := r.CallTool(t.Context(), name, nil)
		if te := toolError(t, err); te.Kind != tool.KindUnknown {
			t.Errorf("%s: %+v", name, te)
		}
	}
	s.up(callTools()...)
	s.answers(`{}`)
	if _, err := r.CallTool(t.Context(), "mcp__my_server__read", nil); err != nil {
		t.Errorf("after it came back: %v", err)
	}
}

func TestSchemasThatCannotBeUsedAreLoggedOnceAndSkipped(t *testing.T) {
	for _, schema := range []string{
		`{"$ref":"https://example.com/schema.json"}`,
		`{"$ref":"file:///etc/hostname"}`,
		`{"$schema":"https://example.com/meta","type":"object"}`,
		`{"type":7}`,
		`[]`,
	} {
		var log bytes.Buffer
		s := newFake("s", downstream.Tool{Name: "t", OutputSchema: json.RawMessage(schema)}).answers(`{"structuredContent":{"a":1}}`)
		r := newRegistry(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, s)
		for range 3 {
			if value, err := r.CallTool(t.Context(), "mcp__s__t", nil); err != nil || string(value) != `{"a":1}` {
				t.Errorf("%s: %s, %v", schema, value, err)
			}
		}
		if n := strings.Count(log.String(), "does not compile"); n != 1 {
			t.Errorf("%s: logged %d times: %s", schema, n, log.String())
		}
	}
}

func TestResultsAreCheckedAgainstTheOutputSchema(t *testing.T) {
	const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#"`
	for _, tt := range []struct {
		schema, value string
		ok            bool
	}{
		{`{}`, `{"a":1}`, yes}, {`{"type":"object"}`, `{"a":1}`, yes}, {`{"type":"object"}`, `[1]`, no}, {`true`, `{}`, yes}, {`false`, `{}`, no},
		{`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1.0}`, yes},
		{`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1.5}`, no},
		{`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]}`, `{"a":null}`, yes},
		{`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, `{"a":"x","b":1}`, no},
		{`{"type":"object","additionalProperties":{"type":"number"}}`, `{"a":1,"b":"x"}`, no},
		{`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","required":["id"]}}}}`, `{"l":[{"id":1},{}]}`, no},
		{`{"type":"object","properties":{"l":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}`, `{"l":["a",null]}`, yes},
		{`{"type":"object","properties":{"l":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}`, `{"l":["a",1]}`, no},
		{`{"maximum":9007199254740992,"type":"integer"}`, `9007199254740993`, no},
		{`{"const":12345678901234567890}`, `12345678901234567891`, no},
		{`{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}},"required":["v"]}},"$ref":"#/$defs/n"}`, `{"v":1,"next":{"v":2}}`, yes},
		{`{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}},"required":["v"]}},"$ref":"#/$defs/n"}`, `{"v":1,"next":{}}`, no},
		{`{` + draft7 + `,"type":"array","items":[{"type":"string"},{"type":"number"}]}`, `["a","b"]`, no},
		{`{"type":"array","prefixItems":[{"type":"string"}]}`, `[1]`, no},
		{`{` + draft7 + `,"type":"array","prefixItems":[{"type":"string"}]}`, `[1]`, yes},
		{`{"pattern":"^(?!x)","type":"string"}`, `"x"`, yes}, // look-ahead cannot be checked
		{`{"pattern":"^(?!x)","type":"string"}`, `1`, no},    // the rest still is
	} {
		s := newFake("s", downstream.Tool{Name: "t", OutputSchema: json.RawMessage(tt.schema)}).answers(`{"structuredContent":` + tt.value + `}`)
		_, err := newRegistry(t, Options{}, s).CallTool(t.Context(), "mcp__s__t", nil)
		if (err == nil) != tt.ok || err != nil && toolError(t, err).Kind != tool.KindSchema {
			t.Errorf("%s with %s: %v", tt.schema, tt.value, err)
		}
	}
}

func TestAnOutputSchemaDecidesWhetherAWrapperIsUnwrapped(t *testing.T) {
	for schema, want := range map[string]string{
		``: `[1]`,
		`{"type":"object","properties":{"result":{"type":"array"}},"required":["result"]}`: `[1]`,
		`{"type":"object","properties":{"result":{},"more":{}}}`:                           `{"result":[1]}`,
		`{"type":"object"}`: `{"result":[1]}`,
		`{"type":"object","properties":{"a":{},"result":{}},"x-fastmcp-wrap-result":true}`: `[1]`,
	} {
		s := newFake("s", downstream.Tool{Name: "t", OutputSchema: json.RawMessage(schema)}).answers(`{"structuredContent":{"result":[1]}}`)
		value, err := newRegistry(t, Options{}, s).CallTool(t.Context(), "mcp__s__t", nil)
		if err != nil || string(value) != want {
			t.Errorf("%s: got %s, %v, want %s", schema, value, err, want)
		}
	}
}
