package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// What a run starts ends with it, and what it holds is freed, so that the
// thousandth costs what the tenth did: runs that end well, that leave calls
// open, and that the caller cancels.
func TestRunsLeaveNothingBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	stuck := func(ctx context.Context, _ string, arguments json.RawMessage) (json.RawMessage, error) {
		if string(arguments) == `{"n":1}` {
			return arguments, nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	script := func(r *runner) sandbox.ExitStatus {
		for i := 1; i <= 20; i++ {
			r.call(i, "mcp__s__t")
		}
		_, _ = r.receive()
		r.send(`{"type":"cancel","id":19}`) // waits for its turn
		r.print("x")
		if string(r.start["source"]) == `"cancelled"` {
			cancel()
			_, _ = r.receive()
		}
		r.done()
		return r.finish()
	}
	backend := fake(script)
	e := executor.New(backend, callerFunc(stuck), testLimits(), slog.New(slog.DiscardHandler))
	run := func(n int) {
		for range n {
			if o := e.Run(t.Context(), executor.Request{Source: "ok"}); !o.OK {
				t.Fatalf("%+v", o.Error)
			}
		}
	}
	run(10)
	tenth := heapInUse()
	run(300)
	if o := e.Run(ctx, executor.Request{Source: "cancelled"}); o.OK || o.Error.Kind != executor.FailCancelled {
		t.Errorf("%+v", o.Error)
	}
	if grown := int64(heapInUse()) - int64(tenth); grown > 2<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if n := backend.Open(); n != 0 {
		t.Errorf("%d sandboxes left open", n)
	}
	goleak.VerifyNone(t, before)
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Calls of one run are made in the order in which they came, and one that the
// program gives up while it waits is answered without waiting for its turn.
func TestCallsWaitForTheirTurnInOrder(t *testing.T) {
	limits := testLimits()
	limits.MaxConcurrentCalls = 1
	release := make(chan struct{})
	var made []string
	caller := func(ctx context.Context, _ string, arguments json.RawMessage) (json.RawMessage, error) {
		made = append(made, string(arguments)) // one at a time
		select {
		case <-release:
			return arguments, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	o := execute(t, limits, caller, executor.Request{}, func(r *runner) sandbox.ExitStatus {
		const calls = 200
		for i := 1; i <= calls; i++ {
			r.call(i, "mcp__s__t")
		}
		r.send(`{"type":"cancel","id":3}`)
		frame, err := r.receive()
		if err != nil || string(frame["id"]) != "3" || string(frame["kind"]) != `"cancelled"` {
			t.Errorf("got %s, %v", frame, err)
		}
		close(release)
		for range calls - 1 {
			if _, err := r.receive(); err != nil {
				t.Error(err)
				break
			}
		}
		r.done()
		return r.finish()
	})
	if !o.OK || len(made) != 199 || o.Calls[2].Status != executor.CallRefused {
		t.Fatalf("%d calls made, %+v, %v", len(made), o.Calls[2], o.Error)
	}
	for i, arguments := range made {
		n := i + 1
		if n >= 3 {
			n++
		}
		if arguments != fmt.Sprintf(`{"n":%d}`, n) {
			t.Fatalf("call %d was %s", n, arguments)
		}
	}
}

// The queue of calls neither loses one nor grows with those that were made.
func TestTwentyThousandCallsAreAnswered(t *testing.T) {
	const calls, open = 20_000, 2000
	limits := testLimits()
	limits.MaxToolCalls = calls
	o := execute(t, limits, echo, executor.Request{}, func(r *runner) sandbox.ExitStatus {
		places := make(chan struct{}, open)
		answered := make(chan error, 1)
		go func() {
			var err error
			for n := 0; n < calls && err == nil; n++ {
				var frame map[string]json.RawMessage
				if frame, err = r.receive(); err == nil && string(frame["type"]) != `"result"` {
					err = errors.New(string(frame["message"]))
				}
				<-places
			}
			answered <- err
		}()
		for i := 1; i <= calls; i++ {
			select {
			case places <- struct{}{}:
			case err := <-answered:
				t.Error(err)
				return r.finish()
			}
			r.call(i, "mcp__s__t")
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
		r.done()
		return r.finish()
	})
	if !o.OK || len(o.Calls) != calls {
		t.Errorf("%d calls, %+v", len(o.Calls), o.Error)
	}
}
