package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

func raw(name, rest string) downstream.Tool {
	t := downstream.Tool{Name: name, Raw: json.RawMessage(`{"name":"` + name + `"` + rest + `}`)}
	t.InputSchema = json.RawMessage(`{"type":"object"}`)
	return t
}

func TestDirectToolsPassThroughAsTheyAre(t *testing.T) {
	full := raw("get-one", `,"title":"One","icons":[{"src":"i.png"}],"x-own":[9007199254740993],"inputSchema":{"type":"object","x":1},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"optional"},"_meta":{"a":1}`)
	odd := raw("odd", `,"inputSchema":{"type":["object","null"]}`)
	odd.InputSchema = json.RawMessage(`{"type":["object","null"]}`)
	output := raw("output", `,"inputSchema":{"type":"object"},"outputSchema":true`)
	var log bytes.Buffer
	r := newRegistry(t, Options{
		Direct: []string{"mcp__a__*", "mcp__b-b__get-one", "mcp__nowhere__*"}, Block: []string{"*__blocked"},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}, newFake("b-b", full, raw("other", "")), newFake("a", odd, output, raw("blocked", "")))

	var got []string
	for _, d := range r.DirectTools(context.Background()) {
		got = append(got, d.Name+" "+string(d.Raw))
	}
	want := []string{
		`mcp__a__output {"name":"mcp__a__output","inputSchema":{"type":"object"}}`,
		`mcp__b_b__get_one {"name":"mcp__b_b__get_one","title":"One","icons":[{"src":"i.png"}],"x-own":[9007199254740993],"inputSchema":{"type":"object","x":1},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"a":1}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, said := range []string{"tool=mcp__a__odd", "pattern=mcp__nowhere__*"} {
		if strings.Count(log.String(), said) != 1 {
			t.Errorf("the log says %q not once:\n%s", said, &log)
		}
	}
}

func TestDirectCallsPassResultsErrorsAndProgressOn(t *testing.T) {
	server := newFake("a", named("echo")...).answers(`{"content":[{"type":"image","data":"AA"}],"isError":true,"odd":9007199254740993}`)
	r := newRegistry(t, Options{Direct: []string{"mcp__a__*"}}, server)
	var progress []string
	got, _, err := r.CallDirect(context.Background(), "mcp__a__echo", nil, func(params json.RawMessage) { progress = append(progress, string(params)) })
	if err != nil || string(got) != `{"content":[{"type":"image","data":"AA"}],"isError":true,"odd":9007199254740993}` {
		t.Errorf("got %s, error %v", got, err)
	}
	if len(progress) != 1 || progress[0] != `{"progressToken":"x","progress":1}` {
		t.Errorf("progress %v", progress)
	}
	server.fails(&downstream.RPCError{Code: -32050, Message: "no luck", Data: json.RawMessage(`{"n":1}`)})
	var rpc *tool.RPCError
	if _, _, err := r.CallDirect(context.Background(), "mcp__a__echo", nil, nil); !errors.As(err, &rpc) || rpc.Code != -32050 || rpc.Message != "no luck" || string(rpc.Data) != `{"n":1}` {
		t.Errorf("error %v", err)
	}
	server.fails(downstream.ErrLost)
	var te *tool.Error
	if _, _, err := r.CallDirect(context.Background(), "mcp__a__echo", nil, nil); !errors.As(err, &te) || te.Kind != tool.KindConnection {
		t.Errorf("error %v", err)
	}
}

func TestOnlyDirectToolsAreCalledDirectly(t *testing.T) {
	down := newFake("down", named("echo")...)
	down.down(errors.New("it crashed"))
	r := newRegistry(t, Options{Direct: []string{"mcp__a__*", "mcp__down__*"}}, newFake("a", named("echo")...), newFake("b", named("echo")...), down)
	for name, want := range map[string]string{
		"mcp__b__echo": "", "echo": "", "mcp__c__echo": "",
		"mcp__a__ecko":    "mcp__a__ecko: no such tool; did you mean mcp__a__echo",
		"mcp__down__echo": `server "down" is not connected`,
	} {
		_, ok, err := r.CallDirect(context.Background(), name, nil, nil)
		if ok != (want != "") || ok && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: direct %v, error %v, want %q", name, ok, err, want)
		}
	}
}

func TestDirectOffersAreThoseOfTheServersNamed(t *testing.T) {
	a, b := offeringServer("a"), offeringServer("b-b")
	r := newRegistry(t, Options{Direct: []string{"mcp__a__*", "mcp__b-b__*"}}, a, b, offeringServer("c"))
	if resources, prompts := r.DirectOffers(); !resources || !prompts {
		t.Errorf("resources %v, prompts %v pass through", resources, prompts)
	}
	if got := r.DirectResources(context.Background()); len(got) != 4 || string(got[0]) != `{"uri":"a:notes","name":"notes"}` {
		t.Errorf("resources %s", got)
	}
	if got := r.DirectTemplates(context.Background()); len(got) != 2 || string(got[1]) != `{"uriTemplate":"b-b:{id}"}` {
		t.Errorf("templates %s", got)
	}
	if got := r.DirectPrompts(context.Background()); len(got) != 2 || string(got[1]) != `{"name":"mcp__b_b__b-b-greet"}` {
		t.Errorf("prompts %s", got)
	}
	for uri, want := range map[string]string{"a:notes": "[1, 2]", "b-b:two": "one"} { // listed, and by its template
		got, ok, err := r.DirectRead(context.Background(), uri)
		if err != nil || !ok || !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, %v, error %v", uri, got, ok, err)
		}
	}
	if _, ok, _ := r.DirectRead(context.Background(), "c:notes"); ok {
		t.Error("a resource of a server that is not direct was read")
	}
	got, ok, err := r.DirectPrompt(context.Background(), "mcp__b_b__b-b-greet", map[string]string{"x": "y"})
	if err != nil || !ok || string(got) != `{"name":"b-b-greet","arguments":{"x":"y"}}` {
		t.Errorf("prompt %s, %v, error %v", got, ok, err)
	}
	if _, ok, _ := r.DirectPrompt(context.Background(), "mcp__c__c-greet", nil); ok {
		t.Error("a prompt of a server that is not direct was given")
	}
}

func TestCompletionsPassThroughToTheServerTheyAreAbout(t *testing.T) {
	a, b := offeringServer("a"), offeringServer("b-b")
	r := newRegistry(t, Options{Direct: []string{"mcp__a__*", "mcp__b_b__*"}}, a, b, offeringServer("c"))
	for params, want := range map[string]string{
		`{"ref":{"type":"ref/prompt","name":"mcp__b_b__b-b-greet"},"argument":{"name":"x","value":"y"}}`: `{"completion":{"values":["b-b"]},"asked":{"argument":{"name":"x","value":"y"},"ref":{"type":"ref/prompt","name":"b-b-greet"}}}`,
		`{"ref":{"type":"ref/prompt","name":"mcp__c__c-greet"},"argument":{"name":"x","value":"y"}}`:     "",
		`{"ref":{"type":"ref/resource","uri":"nobody:{x}"},"argument":{"name":"x","value":"y"}}`:         "",
		`{"ref":7}`: "",
		`[]`:        "",
	} {
		if got, ok, err := r.DirectComplete(t.Context(), json.RawMessage(params)); string(got) != want || ok != (want != "") || err != nil {
			t.Errorf("%s: %s, %v, %v", params, got, ok, err)
		}
	}
}

func TestWhatPassesThroughFromAServerThatIsDownFailsWithTheReason(t *testing.T) {
	a := offeringServer("a")
	r := newRegistry(t, Options{Direct: []string{"mcp__a__*"}}, a, offeringServer("other"))
	a.down(errors.New("exit status 3"))
	_, readOK, read := r.DirectRead(t.Context(), "a://x")
	_, promptOK, prompt := r.DirectPrompt(t.Context(), "mcp__a__a-greet", nil)
	_, callOK, call := r.CallDirect(t.Context(), "mcp__a__anything", nil, nil)
	for name, err := range map[string]error{"resource": read, "prompt": prompt, "tool": call} {
		if err == nil || !strings.Contains(err.Error(), "exit status 3") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !readOK || !promptOK || !callOK {
		t.Error("left to somebody else to answer")
	}
	if _, ok, _ := r.DirectPrompt(t.Context(), "mcp__other__other-greet", nil); ok {
		t.Error("a prompt that does not pass through was answered")
	}
}

func TestTheDirectStateChangesWithWhatIsOffered(t *testing.T) {
	a := offeringServer("a")
	other := offeringServer("other")
	r := newRegistry(t, Options{Direct: []string{"mcp__a__*"}}, a, other)
	first := r.DirectState()
	other.change(func() { other.status.ResourcesRevision++ })
	other.up(named("new")...)
	if got := r.DirectState(); got != first {
		t.Errorf("the state changed with a server that is not direct: %+v", got)
	}
	a.change(func() { a.status.ResourcesRevision++ })
	second := r.DirectState()
	if second.Resources == first.Resources || second.Prompts != first.Prompts || second.Tools != first.Tools {
		t.Errorf("after a change of the resources: %+v, before %+v", second, first)
	}
	a.up(raw("new", ""))
	if got := r.DirectState(); got.Tools == first.Tools {
		t.Error("the state is the same after a change of the tools")
	}
	a.down(errors.New("gone"))
	if got := r.DirectState(); got.Resources != "" || got.Prompts != "" {
		t.Errorf("the state of a server that is down: %+v", got)
	}
	if got := newRegistry(t, Options{}, a).DirectState(); got != (tool.DirectState{}) {
		t.Errorf("without tools.direct: %+v", got)
	}
}

func TestNoPatternIsBlamedBeforeThereAreServers(t *testing.T) {
	var log bytes.Buffer
	r := newRegistry(t, Options{
		Allow: []string{"mcp__a__echo"}, Direct: []string{"mcp__a__*"}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err := r.SetServers([]Server{newFake("a", raw("echo", ""))}); err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		t.Errorf("the log says\n%s", &log)
	}
}
