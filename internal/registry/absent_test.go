package registry

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

func TestWhatIsSaidOfAToolThatCannotBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changing, lost, never, removed := newFake("my-changing", named("old", "kept")...), newFake("lost", named("read_mail")...), newConnecting("never"), newFake("removed", named("x")...)
		empty, one, two := newFake("empty"), newFake("one", named("shared")...), newFake("two", named("shared")...)
		r := newRegistry(t, Options{}, changing, lost, never, empty, one, two, removed)
		changing.up(named("kept")...)
		lost.lose(errors.New("exit status 3"))
		never.down(errors.New("no such file"))
		if err := r.SetServers([]Server{changing, lost, never, empty, one, two}); err != nil {
			t.Fatal(err)
		}
		<-time.After(75 * time.Second)
		for _, tt := range []struct {
			name string
			kind tool.Kind
			want string
		}{
			{"mcp__my_changing__old", tool.KindUnknown, `server "my-changing" withdrew this tool from its list 1m15s ago`},
			{"my-changing.old", tool.KindUnknown, "withdrew this tool"},
			{"mcp__my_changing__kpt", tool.KindUnknown, "no such tool; did you mean mcp__my_changing__kept?"},
			{"mcp__lost__read_mail", tool.KindConnection, `server "lost" is not connected (exit status 3); nothing was sent; it is being reconnected`},
			{"read_mail", tool.KindConnection, `server "lost" is not connected`},
			{"mcp__lost__red_mail", tool.KindUnknown, `server "lost" has no such tool as far as is known; it is not connected at present (exit status 3); did you mean mcp__lost__read_mail?`},
			{"mcp__never__any", tool.KindConnection, `server "never" is not connected (no such file)`},
			{"mcp__removed__x", tool.KindUnknown, `server "removed" is no longer configured`},
			{"mcp__nobody__x", tool.KindUnknown, "no such tool"},
			{"shared", tool.KindUnknown, "several servers have such a tool; call one of them by its full name: mcp__one__shared, mcp__two__shared"},
		} {
			_, called := r.CallTool(t.Context(), tt.name, nil)
			_, inspected := r.Inspect(tt.name)
			for _, err := range []error{called, inspected} {
				if te := toolError(t, err); te.Kind != tt.kind || te.Sent || !strings.HasPrefix(te.Message, tt.name+": ") || !strings.Contains(te.Message, tt.want) {
					t.Errorf("%s: %s %s", tt.name, te.Kind, te.Message)
				}
			}
		}
		for arguments, want := range map[string]string{
			`{"tool_name":"mcp__lost__read_mail"}`:  `"mcp__lost__read_mail: server \"lost\" is not connected (exit status 3)`,
			`{"tool_name":"read_mail"}`:             `"read_mail: server \"lost\" is not connected`,
			`{"tool_name":"mcp__my_changing__old"}`: `withdrew this tool`,
			`{"tool_name":"mcp__my_changing__kpt"}`: `null`,
			`{"tool_name":"kept"}`:                  `it has come since the program was started`,
			`{"tool_name":"print"}`:                 `null`,
			`{"server":"lost"}`:                     `"server \"lost\" is not connected (exit status 3)`,
			`{"server":"my_changing"}`:              `has come since the program was started`,
			`{"server":"empty"}`:                    `has no tools that can be called`,
			`{"server":"removed"}`:                  `is no longer configured`,
			`{"server":"nobody"}`:                   `null`,
		} {
			got, err := r.CallTool(t.Context(), tool.Absence, json.RawMessage(arguments))
			if err != nil || !strings.Contains(string(got), want) || !json.Valid(got) {
				t.Errorf("%s: %s, %v", arguments, got, err)
			}
		}
	})
}

func TestAServerLostAMomentAgoIsWaitedFor(t *testing.T) {
	tools := callTools()
	for name, use := range map[string]func(ctx context.Context, r *Registry) string{
		"by a program that names it": func(ctx context.Context, r *Registry) string {
			return string(r.Prepare(ctx, "await mcp__s__send()").Wire)
		},
		"by a program that calls one of its tools by its short name": func(ctx context.Context, r *Registry) string {
			return string(r.Prepare(ctx, "await send()").Wire)
		},
		"by a call": func(ctx context.Context, r *Registry) string {
			value, err := r.CallTool(ctx, "mcp__s__send", nil)
			if err != nil {
				return err.Error()
			}
			return string(value)
		},
		"by a direct call": func(ctx context.Context, r *Registry) string {
			value, _, err := r.CallDirect(ctx, "mcp__s__send", nil, nil)
			if err != nil {
				return err.Error()
			}
			return string(value)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake("s", tools...).answers(`{"structuredContent":{"came":"mcp__s__send"}}`)
				r := newRegistry(t, Options{Direct: []string{"*"}}, s)
				s.lose(errors.New("exit status 1"))
				began := time.Now()
				time.AfterFunc(2*time.Second, func() { s.up(tools...) })
				if got := use(t.Context(), r); !strings.Contains(got, "mcp__s__send") || time.Since(began) != 2*time.Second {
					t.Errorf("got %s after %v", got, time.Since(began))
				}
				s.lose(errors.New("exit status 1"))
				<-time.After(reconnectWait)
				began = time.Now()
				if got := use(t.Context(), r); strings.Contains(got, `"came"`) || time.Since(began) != 0 {
					t.Errorf("long after the loss: got %s after %v", got, time.Since(began))
				}
			})
		})
	}
}

func TestWhoDoesNotMeanALostServerDoesNotWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake("s", named("send")...)
		r := newRegistry(t, Options{}, s)
		s.lose(errors.New("exit status 1"))
		began := time.Now()
		for _, source := range []string{"print(1)", "await other()", "print(list_callable_tools())", "await mcp__t__send()"} {
			r.Prepare(t.Context(), source)
		}
		if time.Since(began) != 0 {
			t.Errorf("waited %v", time.Since(began))
		}
	})
}

func TestACallThatFindsItsServerGoneIsMadeWhenItIsBack(t *testing.T) {
	s := newFake("s", callTools()...)
	s.does(func(_ context.Context, call int, _ string, _ json.RawMessage) (json.RawMessage, error) {
		if call == 1 {
			s.lose(errors.New("exit status 1"))
			go s.up(callTools()...)
			return nil, downstream.ErrDown // so nothing was sent
		}
		return json.RawMessage(`{"structuredContent":{"result":7}}`), nil
	})
	if value, err := newRegistry(t, Options{}, s).CallTool(t.Context(), "mcp__s__send", nil); err != nil || string(value) != "7" {
		t.Errorf("got %s, %v", value, err)
	}
}
