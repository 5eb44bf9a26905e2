package executor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

func TestAProgramsOutputAndResultComeBack(t *testing.T) {
	var live bytes.Buffer
	o := execute(t, testLimits(), echo, executor.Request{Source: "print(1)", Output: &live}, func(r *runner) sandbox.ExitStatus {
		if string(r.start["source"]) != `"print(1)"` || string(r.start["filename"]) != `"\u003cprogram\u003e"` {
			t.Errorf("start frame: %s %s", r.start["source"], r.start["filename"])
		}
		r.print("one\n")
		r.send(`{"type":"emit","value":1}`)
		r.send(`{"type":"emit","value":{"last":"\ud800 wins","big":12345678901234567890}}`)
		r.done()
		return r.finish()
	})
	if !o.OK || o.Error != nil || o.Output != "one\n" || live.String() != "one\n" {
		t.Errorf("outcome %+v, live %q", o, live.String())
	}
	if got := string(o.Result); got != `{"big":12345678901234567890,"last":"`+"\uFFFD"+` wins"}` {
		t.Errorf("result %s", got)
	}
}

func TestAThousandCallsOfWhichFiftyFail(t *testing.T) {
	limits := testLimits()
	var now, most atomic.Int32
	caller := func(_ context.Context, name string, arguments json.RawMessage) (json.RawMessage, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		var args struct{ N int }
		if err := json.Unmarshal(arguments, &args); err != nil {
			return nil, err
		}
		if args.N%20 == 0 {
			return nil, tool.Errorf(name, tool.KindResult, "no such thing")
		}
		return json.RawMessage(`"fine"`), nil
	}
	o := execute(t, limits, caller, executor.Request{}, func(r *runner) sandbox.ExitStatus {
		for i := 1; i <= 1000; i++ {
			r.call(i, "mcp__s__t")
		}
		var results, failures int
		for range 1000 {
			frame, err := r.receive()
			if err != nil {
				t.Error(err)
				break
			}
			if string(frame["type"]) == `"result"` {
				results++
			} else {
				failures++
			}
		}
		r.print(fmt.Sprintf("%d %d", results, failures))
		r.done()
		return r.finish()
	})
	if !o.OK || o.Output != "950 50" || len(o.Calls) != 1000 {
		t.Errorf("ok %v, output %q, %d calls, %v", o.OK, o.Output, len(o.Calls), o.Error)
	}
	if got := most.Load(); got > int32(limits.MaxConcurrentCalls) {
		t.Errorf("%d calls at once, the limit is %d", got, limits.MaxConcurrentCalls)
	}
	if text := o.Text(executor.TraceSummary, 64<<10); !strings.Contains(text, "\n[tool calls: 1000, 50 failed; ") ||
		strings.Count(text, "mcp__s__t: no such thing") != 5 || !strings.HasSuffix(text, "… and 45 more") {
		t.Errorf("trace: %s", text)
	}
}

func TestCallsOverTheBudgetAreRefusedAndNotSent(t *testing.T) {
	limits := testLimits()
	limits.MaxToolCalls = 3
	var sent atomic.Int32
	caller := func(_ context.Context, name string, _ json.RawMessage) (json.RawMessage, error) {
		if tool.Counted(name) {
			sent.Add(1)
		}
		return json.RawMessage("null"), nil
	}
	o := execute(t, limits, caller, executor.Request{}, func(r *runner) sandbox.ExitStatus {
		for i := 1; i <= 100; i++ {
			r.call(2*i, "mcp__s__t")
			r.call(2*i+1, tool.ServerStatus)
		}
		refused := 0
		for range 200 {
			frame, err := r.receive()
			if err != nil {
				t.Error(err)
				break
			}
			if string(frame["kind"]) == `"budget"` {
				refused++
			}
		}
		r.print(fmt.Sprint(refused))
		r.done()
		return r.finish()
	})
	if sent.Load() != 3 || o.Output != "97" || o.Refused != 97 || len(o.Calls) > 30 {
		t.Errorf("sent %d, refused %s (recorded %d of %d)", sent.Load(), o.Output, len(o.Calls), o.Refused)
	}
	if tally := o.Structured(64 << 10).ToolCalls; tally.Total != 100 || tally.Failed != 97 {
		t.Errorf("tally %+v", tally)
	}
}

func TestTheHostEndsARunThatWillNotEndItself(t *testing.T) {
	unblocked := make(chan struct{}, 1)
	never := func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		unblocked <- struct{}{}
		return nil, ctx.Err()
	}
	hang := func(r *runner) sandbox.ExitStatus {
		r.print("before the end")
		r.call(1, "mcp__s__write")
		return r.finish()
	}
	t.Run("when its time is over", func(t *testing.T) {
		limits := testLimits()
		limits.Timeout = 300 * time.Millisecond
		o := execute(t, limits, never, executor.Request{}, hang)
		check(t, o, executor.FailTimeout, "before the end")
		if !strings.Contains(o.Error.Message, "mcp__s__write") {
			t.Errorf("the message does not name the call under way: %s", o.Error.Message)
		}
		<-unblocked
		if c := o.Calls[0]; c.Status != executor.CallCancelled || !c.OutcomeUnknown {
			t.Errorf("call %+v", c)
		}
		if text := o.Text("off", 64<<10); !strings.Contains(text, "[outcome unknown, check before repeating: mcp__s__write]") {
			t.Errorf("no receipt in: %s", text)
		}
	})
	t.Run("when the client cancels", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		called := func(callCtx context.Context, name string, a json.RawMessage) (json.RawMessage, error) {
			cancel()
			return never(callCtx, name, a)
		}
		o := executeContext(t, ctx, testLimits(), called, executor.Request{}, hang)
		check(t, o, executor.FailCancelled, "before the end")
		<-unblocked
	})
	t.Run("when it is flooded with results it does not read", func(t *testing.T) {
		limits := testLimits()
		limits.Timeout = 500 * time.Millisecond
		var made atomic.Int32
		large := json.RawMessage(`"` + strings.Repeat("x", 1<<20-2) + `"`)
		caller := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			made.Add(1)
			return large, nil
		}
		o := execute(t, limits, caller, executor.Request{}, func(r *runner) sandbox.ExitStatus {
			for i := 1; i <= 1000; i++ {
				r.call(i, "mcp__s__t")
			}
			<-t.Context().Done() // without reading a single answer
			return sandbox.ExitStatus{}
		})
		check(t, o, executor.FailTimeout, "")
		if n := int(made.Load()); n > limits.MaxConcurrentCalls {
			t.Errorf("%d results were made for a sandbox that reads none", n)
		}
	})
}

func TestOneCallsTimeIsBounded(t *testing.T) {
	limits := testLimits()
	limits.ToolCallTimeout = 50 * time.Millisecond
	caller := func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	o := execute(t, limits, caller, executor.Request{}, func(r *runner) sandbox.ExitStatus {
		r.call(1, "mcp__s__t")
		frame, err := r.receive()
		if err != nil {
			t.Error(err)
		}
		r.print(string(frame["kind"]))
		r.done()
		return r.finish()
	})
	if o.Output != `"timeout"` || !o.Calls[0].OutcomeUnknown {
		t.Errorf("output %q, call %+v", o.Output, o.Calls[0])
	}
}

func TestACallThatTheProgramGivesUpIsCancelledAtItsServer(t *testing.T) {
	limits := testLimits()
	limits.MaxConcurrentCalls = 1
	started := make(chan struct{})
	caller := func(ctx context.Context, name string, _ json.RawMessage) (json.RawMessage, error) {
		if name == "mcp__s__quick" {
			return json.RawMessage("1"), nil
		}
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	o := execute(t, limits, caller, executor.Request{}, func(r *runner) sandbox.ExitStatus {
		r.call(1, "mcp__s__slow")
		<-started
		r.call(2, "mcp__s__waiting") // for the only slot
		r.send(`{"type":"cancel","id":2}`)
		r.send(`{"type":"cancel","id":1}`)
		r.call(3, "mcp__s__quick")
		for range 3 {
			frame, err := r.receive()
			if err != nil {
				t.Error(err)
				break
			}
			r.print(string(frame["id"]) + string(frame["type"]) + string(frame["kind"]) + "\n")
		}
		r.send(`{"type":"cancel","id":1}`) // answered already
		r.done()
		return r.finish()
	})
	if !o.OK || !strings.Contains(o.Output, `1"error""cancelled"`) || !strings.Contains(o.Output, `2"error""cancelled"`) || !strings.Contains(o.Output, `3"result"`) {
		t.Fatalf("ok %v, output:\n%s", o.OK, o.Output)
	}
	if c := o.Calls[0]; c.Status != executor.CallCancelled || !c.OutcomeUnknown || !strings.Contains(c.Error, "gave it up") {
		t.Errorf("call given up on its way: %+v", c)
	}
}

func TestCallsUnderWayAtTheEndAreCancelledAndRecorded(t *testing.T) {
	started := make(chan struct{})
	caller := func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	req := executor.Request{Tools: tool.Table{ReadOnly: map[string]bool{"mcp__s__read": true}}}
	o := execute(t, testLimits(), caller, req, func(r *runner) sandbox.ExitStatus {
		r.call(1, "mcp__s__read")
		<-started
		r.done()
		return r.finish()
	})
	if !o.OK || len(o.Calls) != 1 || o.Calls[0].Status != executor.CallCancelled || o.Calls[0].OutcomeUnknown {
		t.Errorf("ok %v, calls %+v", o.OK, o.Calls)
	}
}

func TestHowTheSandboxEndedIsToldApart(t *testing.T) {
	for _, test := range []struct {
		name   string
		status sandbox.ExitStatus
		want   executor.FailureKind
		text   string
	}{
		{"the kernel ends it for its memory", sandbox.ExitStatus{Reason: sandbox.OutOfMemory, Code: -1, Signal: "SIGKILL"}, executor.FailMemory, "512 MiB"},
		{"a signal ends it", sandbox.ExitStatus{Reason: sandbox.Signalled, Code: -1, Signal: "SIGSEGV"}, executor.FailDied, "SIGSEGV"},
		{"it leaves without a word", sandbox.ExitStatus{Code: 7}, executor.FailDied, "exit code 7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := execute(t, testLimits(), echo, executor.Request{}, func(r *runner) sandbox.ExitStatus {
				r.print("kept")
				return test.status
			})
			check(t, o, test.want, "kept")
			if !strings.Contains(o.Error.Message, test.text) {
				t.Errorf("message %q", o.Error.Message)
			}
		})
	}
}

func TestASandboxThatCannotBeHadIsAnOutcome(t *testing.T) {
	backend := &sandboxtest.Fake{Unavailable: fmt.Errorf("engine: %w: start it", sandbox.ErrUnavailable)}
	o := executor.New(backend, callerFunc(echo), testLimits(), slog.New(slog.DiscardHandler)).Run(t.Context(), executor.Request{})
	check(t, o, executor.FailSandbox, "")
	if !strings.Contains(o.Error.Message, "start it") {
		t.Errorf("the remedy is lost: %s", o.Error.Message)
	}
}

func TestAViolationOfTheProtocolEndsTheRunAndKeepsItsOutput(t *testing.T) {
	frame := func(format string, args ...any) func(*runner) {
		return func(r *runner) { r.send(format, args...) }
	}
	for name, attack := range map[string]func(*runner){
		"a length without a frame":      func(r *runner) { r.raw([]byte{0xff, 0xff, 0xff, 0xff}) },
		"a frame of one byte":           func(r *runner) { r.raw([]byte{0, 0, 0, 1, '{'}) },
		"text instead of a frame":       func(r *runner) { r.raw([]byte("print went astray\n")) },
		"not an object":                 frame(`[1,2,3]`),
		"two objects":                   frame(`{"type":"done","outcome":"ok","error":null}{}`),
		"broken JSON":                   frame(`{"type":"done",`),
		"invalid UTF-8":                 frame("{\"type\":\"emit\",\"value\":\"\xff\"}"),
		"no type":                       frame(`{"outcome":"ok"}`),
		"a second hello":                frame("%s", hello),
		"an unknown type":               frame(`{"type":"exec","cmd":"sh"}`),
		"a host's frame":                frame(`{"type":"result","id":1,"value":1}`),
		"an unknown key":                frame(`{"type":"emit","value":1,"more":2}`),
		"a key twice":                   frame(`{"type":"emit","value":1,"value":2}`),
		"a missing key":                 frame(`{"type":"call","id":1,"tool":"mcp__s__t"}`),
		"a wrong type of key":           frame(`{"type":"call","id":"1","tool":"mcp__s__t","arguments":{}}`),
		"arguments that are no object":  frame(`{"type":"call","id":1,"tool":"mcp__s__t","arguments":[]}`),
		"null arguments":                frame(`{"type":"call","id":1,"tool":"mcp__s__t","arguments":null}`),
		"id zero":                       frame(`{"type":"call","id":0,"tool":"mcp__s__t","arguments":{}}`),
		"id null":                       frame(`{"type":"call","id":null,"tool":"mcp__s__t","arguments":{}}`),
		"an id past 2^53":               frame(`{"type":"call","id":9007199254740993,"tool":"mcp__s__t","arguments":{}}`),
		"an id twice":                   func(r *runner) { r.call(5, "mcp__s__t"); r.call(5, "mcp__s__t") },
		"an id going back":              func(r *runner) { r.call(5, "mcp__s__t"); r.call(4, "mcp__s__t") },
		"a cancel of a call never made": frame(`{"type":"cancel","id":3}`),
		"a tool name without end":       frame(`{"type":"call","id":1,"tool":"%s","arguments":{}}`, strings.Repeat("x", 600)),
		"nesting without end":           frame(`{"type":"emit","value":%s}`, strings.Repeat("[", 100_000)),
		"an emit value over the limit":  frame(`{"type":"emit","value":"%s"}`, strings.Repeat("x", 40<<10)),
		"done with a contradiction":     frame(`{"type":"done","outcome":"ok","error":{"kind":"exit"}}`),
		"done with an unknown outcome":  frame(`{"type":"done","outcome":"fine","error":null}`),
		"more open calls than are safe": func(r *runner) { floodCalls(r) },
	} {
		t.Run(name, func(t *testing.T) {
			block := func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			o := execute(t, testLimits(), block, executor.Request{}, func(r *runner) sandbox.ExitStatus {
				r.print("kept")
				attack(r)
				return r.finish()
			})
			check(t, o, executor.FailProtocol, "kept")
			if !strings.Contains(o.Error.Message, "channel protocol violation: ") {
				t.Errorf("message %q", o.Error.Message)
			}
		})
	}
}

func floodCalls(r *runner) {
	for i := 1; i < 6000; i++ {
		r.call(i, "mcp__s__t")
	}
}

func TestASandboxThatIsNotOurRunnerIsRefused(t *testing.T) {
	for name, first := range map[string]string{
		"another program": "Python 3.11.2 (main)\n",
		"another version": `{"type":"hello","protocol":2,"python":"3.11.2","runner":"0123456789abcdef"}`,
		"no hello":        `{"type":"done","outcome":"ok","error":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			backend := &sandboxtest.Fake{Runner: func(ch io.ReadWriter, output io.Writer) sandbox.ExitStatus {
				r := &runner{out: ch}
				r.send("%s", first)
				_, _ = io.Copy(io.Discard, ch)
				return sandbox.ExitStatus{}
			}}
			o := executor.New(backend, callerFunc(echo), testLimits(), slog.New(slog.DiscardHandler)).Run(t.Context(), executor.Request{})
			check(t, o, executor.FailProtocol, "")
		})
	}
}

func TestAFloodOfOutputIsBoundedAndCounted(t *testing.T) {
	limits := testLimits()
	limits.MaxOutputBytes = 4096
	o := execute(t, limits, echo, executor.Request{}, func(r *runner) sandbox.ExitStatus {
		r.print("first\n")
		for range 1000 {
			r.print(strings.Repeat("\x80é", 500))
		}
		r.print("\nlast")
		r.done()
		return r.finish()
	})
	if !o.OK || len(o.Output) > 4096 || !utf8.ValidString(o.Output) {
		t.Fatalf("ok %v, %d bytes, valid %v", o.OK, len(o.Output), utf8.ValidString(o.Output))
	}
	if !strings.HasPrefix(o.Output, "first\n") || !strings.HasSuffix(o.Output, "\nlast") || !strings.Contains(o.Output, "bytes left out") {
		t.Errorf("output %q … %q", o.Output[:40], o.Output[len(o.Output)-40:])
	}
	if o.Figures.OutputBytes != 6+1_500_000+5 {
		t.Errorf("counted %d bytes", o.Figures.OutputBytes)
	}
}

func TestOutputIsWholeWithoutAMarkerAndWithPartsOfIt(t *testing.T) {
	t.Run("parts of it are output", func(t *testing.T) {
		o := execute(t, testLimits(), echo, executor.Request{}, func(r *runner) sandbox.ExitStatus {
			for i := range r.marker {
				r.print(string(r.marker[:i]) + ".")
			}
			r.done()
			return r.finish()
		})
		if o.Figures.OutputBytes != 16*15/2+16 {
			t.Errorf("%d bytes of output", o.Figures.OutputBytes)
		}
	})
	t.Run("it never comes", func(t *testing.T) {
		o := execute(t, testLimits(), echo, executor.Request{}, func(r *runner) sandbox.ExitStatus {
			r.print("all of it")
			r.send(`{"type":"done","outcome":"ok","error":null}`)
			return r.finish()
		})
		if !o.OK || o.Output != "all of it" {
			t.Errorf("ok %v, output %q", o.OK, o.Output)
		}
	})
}

func TestAnOrdinaryErrorOfACallerReachesTheProgramClassified(t *testing.T) {
	caller := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return nil, errors.New("boom")
	}
	o := execute(t, testLimits(), caller, executor.Request{}, func(r *runner) sandbox.ExitStatus {
		r.call(1, "mcp__s__t")
		frame, err := r.receive()
		if err != nil {
			t.Error(err)
		}
		r.print(string(frame["kind"]) + string(frame["message"]))
		r.done()
		return r.finish()
	})
	if o.Output != `"protocol_error""mcp__s__t: boom"` {
		t.Errorf("output %s", o.Output)
	}
}

func check(t *testing.T, o *executor.Outcome, want executor.FailureKind, output string) {
	t.Helper()
	if o.OK || o.Error == nil || o.Error.Kind != want {
		t.Fatalf("ok %v, error %+v; want %s", o.OK, o.Error, want)
	}
	if o.Output != output {
		t.Errorf("output %q, want %q", o.Output, output)
	}
}

func TestASandboxIsClosedSoonAfterItsProgramIsDone(t *testing.T) {
	ok := func(r *runner) sandbox.ExitStatus {
		r.done()
		return r.finish()
	}
	for name, end := range map[string]func(e *executor.Executor, backend *sandboxtest.Fake){
		"by itself": func(*executor.Executor, *sandboxtest.Fake) {},
		"by Close":  func(e *executor.Executor, _ *sandboxtest.Fake) { _ = e.Close() },
		"by the next run": func(e *executor.Executor, b *sandboxtest.Fake) {
			b.OnStart = isFirstOpen(t, b)
			e.Run(t.Context(), executor.Request{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			backend := fake(ok)
			e := executor.New(backend, callerFunc(echo), testLimits(), slog.New(slog.DiscardHandler))
			if o := e.Run(t.Context(), executor.Request{}); !o.OK {
				t.Fatal(o.Error)
			}
			end(e, backend)
			for patience := time.Now().Add(time.Minute); backend.Open() > 0; runtime.Gosched() {
				if name == "by Close" || time.Now().After(patience) {
					t.Fatalf("%d sandboxes left open", backend.Open())
				}
			}
		})
	}
}

// isFirstOpen sees to it that no sandbox is open when one is started.
func isFirstOpen(t *testing.T, b *sandboxtest.Fake) func(context.Context, sandbox.Spec) error {
	return func(context.Context, sandbox.Spec) error {
		if n := b.Open(); n > 0 {
			t.Errorf("%d sandboxes open at the start of the next run", n)
		}
		return nil
	}
}
