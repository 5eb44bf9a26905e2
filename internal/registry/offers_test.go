package registry

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

func raws(texts ...string) []json.RawMessage {
	list := make([]json.RawMessage, len(texts))
	for i, t := range texts {
		list[i] = json.RawMessage(t)
	}
	return list
}

// offeringServer has two resources, a template and a prompt.
func offeringServer(name string) *fakeServer {
	s := newConnecting(name)
	s.resources = raws(`{"uri":"`+name+`:notes","name":"notes"}`, `{"uri":"shared:1","server":"its own"}`)
	s.templates = raws(`{"uriTemplate":"` + name + `:{id}"}`)
	s.prompts = raws(`{"name":"` + name + `-greet"}`)
	s.reading = map[string]string{
		name + ":notes": `{"contents":[{"uri":"n","mimeType":"text/plain","text":"[1, 2]"}]}`,
		name + ":json":  `{"contents":[{"uri":"n","mimeType":"application/json; charset=utf-8","text":"{\"a\": 1}"}]}`,
		name + ":bad":   `{"contents":[{"uri":"n","mimeType":"application/json","text":"{a"}]}`,
		name + ":blob":  `{"contents":[{"uri":"n","mimeType":"image/png","blob":"AAAA"}]}`,
		name + ":two":   `{"contents":[{"uri":"n","text":"one"},{"uri":"m","text":"two"}]}`,
		name + ":none":  `{}`,
		name + ":odd":   `{"contents":[7]}`,
	}
	s.up(named("echo")...)
	return s
}

func TestOffersAreReadByPrograms(t *testing.T) {
	plain := newFake("plain", named("echo")...)
	r := newRegistry(t, Options{MaxResultBytes: 1 << 16}, offeringServer("a"), offeringServer("b-b"), plain)
	for _, c := range []struct{ name, function, arguments, want string }{
		{"one server's resources and templates, each with its server", tool.ListResources, `{"server":"a"}`,
			`[{"uri":"a:notes","name":"notes","server":"a"},{"uri":"shared:1","server":"its own","server":"a"},{"uriTemplate":"a:{id}","server":"a"}]`},
		{"all servers' prompts", tool.ListPrompts, `{}`, `[{"name":"a-greet","server":"a"},{"name":"b-b-greet","server":"b-b"}]`},
		{"a server by another spelling", tool.ListPrompts, `{"server":"b_b"}`, `[{"name":"b-b-greet","server":"b-b"}]`},
		{"null for no server", tool.ListPrompts, `{"server":null}`, `[{"name":"a-greet","server":"a"},{"name":"b-b-greet","server":"b-b"}]`},
		{"text stays text", tool.ReadResource, `{"server":"a","uri":"a:notes"}`, `"[1, 2]"`},
		{"a uri that one server lists names the server", tool.ReadResource, `{"uri":"b-b:notes"}`, `"[1, 2]"`},
		{"JSON is parsed", tool.ReadResource, `{"server":"a","uri":"a:json"}`, `{"a": 1}`},
		{"what is not the JSON it says stays text", tool.ReadResource, `{"server":"a","uri":"a:bad"}`, `"{a"`},
		{"bytes come as an object", tool.ReadResource, `{"server":"a","uri":"a:blob"}`, `[{"uri":"n","mimeType":"image/png","blob":"AAAA"}]`},
		{"parts come as objects", tool.ReadResource, `{"server":"a","uri":"a:two"}`, `[{"uri":"n","text":"one"},{"uri":"m","text":"two"}]`},
		{"no contents are no parts", tool.ReadResource, `{"server":"a","uri":"a:none"}`, `[]`},
		{"odd contents pass", tool.ReadResource, `{"server":"a","uri":"a:odd"}`, `[7]`},
		{"arguments of prompts become strings", tool.GetPrompt, `{"server":"a","name":"x","arguments":{"n":3,"s":"t\n"}}`, `{"name":"x","arguments":{"n":"3","s":"t\n"}}`},
		{"a prompt that one server lists names the server", tool.GetPrompt, `{"name":"b-b-greet"}`, `{"name":"b-b-greet","arguments":{}}`},
	} {
		got, err := r.CallTool(context.Background(), c.function, json.RawMessage(c.arguments))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s %s gave %s, error %v, want %s", c.name, c.function, c.arguments, got, err, c.want)
		}
	}
}

func TestWhatCannotBeReadSaysWhy(t *testing.T) {
	down := newFake("gone", named("echo")...)
	down.down(errors.New("it crashed"))
	r := newRegistry(t, Options{Block: []string{"mcp__b_b__*"}}, offeringServer("a"), offeringServer("b-b"), offeringServer("c"), newFake("plain", named("echo")...), down)
	for _, c := range []struct {
		function, arguments, want string
		kind                      tool.Kind
	}{
		{tool.ReadResource, `{}`, "read_resource: uri is missing", tool.KindArguments},
		{tool.ReadResource, `{"uri":"shared:1"}`, `several servers list "shared:1"; say which with server=: a, c`, tool.KindArguments},
		{tool.ReadResource, `{"uri":"a:note"}`, `no server lists "a:note"; did you mean a:notes`, tool.KindUnknown},
		{tool.ReadResource, `{"uri":"x","server":"plain"}`, `server "plain" offers no resources`, tool.KindUnknown},
		{tool.ReadResource, `{"uri":"x","server":"plane"}`, `no server is named "plane"; did you mean plain?`, tool.KindArguments},
		{tool.ReadResource, `{"uri":"x","server":"gone"}`, `server "gone" is not connected (it crashed)`, tool.KindConnection},
		{tool.ReadResource, `{"uri":"x","server":"b-b"}`, `tools.allow or tools.block leaves mcp__b_b__read_resource out`, tool.KindUnknown},
		{tool.GetPrompt, `{}`, "name is missing", tool.KindArguments},
		{tool.GetPrompt, `{"name":"x","arguments":[1]}`, "arguments must be an object of strings", tool.KindArguments},
	} {
		_, err := r.CallTool(context.Background(), c.function, json.RawMessage(c.arguments))
		var te *tool.Error
		if !errors.As(err, &te) || te.Kind != c.kind || !strings.Contains(te.Message, c.want) || te.OutcomeUnknown() && te.Kind != tool.KindConnection {
			t.Errorf("%s %s: error %v, want kind %s and %q", c.function, c.arguments, err, c.kind, c.want)
		}
	}
}

func TestAServerThatFailsToListIsShown(t *testing.T) {
	broken := offeringServer("broken")
	broken.offerErr = &downstream.RPCError{Code: -32000, Message: "not today"}
	r := newRegistry(t, Options{}, offeringServer("a"), broken)
	got, err := r.CallTool(context.Background(), tool.ListPrompts, nil)
	if err != nil || !strings.Contains(string(got), `{"name":"a-greet","server":"a"}`) || !strings.Contains(string(got), `{"server":"broken","error":"list_prompts: the server answered error -32000: not today`) {
		t.Errorf("got %s, error %v", got, err)
	}
	if _, err := r.CallTool(context.Background(), tool.ListPrompts, json.RawMessage(`{"server":"broken"}`)); err == nil {
		t.Error("the failing server alone was asked, and no error came")
	}
}

func TestOffersOverTheSizeLimitAreRefused(t *testing.T) {
	r := newRegistry(t, Options{MaxResultBytes: 40}, offeringServer("a"))
	for function, arguments := range map[string]string{
		tool.ListResources: `{}`,
		tool.ReadResource:  `{"uri":"a:two"}`,
	} {
		_, err := r.CallTool(context.Background(), function, json.RawMessage(arguments))
		var te *tool.Error
		if !errors.As(err, &te) || te.Kind != tool.KindTooLarge {
			t.Errorf("%s: error %v, want too_large", function, err)
		}
	}
}
