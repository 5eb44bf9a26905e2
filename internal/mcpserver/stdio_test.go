package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

const ping = `{"jsonrpc":"2.0","id":"ping","method":"ping"}`

// alive fails the test unless the server answers a ping next.
func (c *client) alive() {
	c.t.Helper()
	c.send(ping)
	if m := c.message(); string(m.ID) != `"ping"` || m.Error != nil {
		c.t.Fatalf("ping answered with %+v", m)
	}
}

func TestHundredCancellationsThatFollowAtOnceAreNotLost(t *testing.T) {
	b := newBench(t)
	c := connect(t, b.Server)
	for id := range 100 {
		c.execute(id, "wait", "")
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
	}
	// No cancelled request is answered, so the next line is the ping's.
	c.alive()
	eventually(t, "all programs have ended", func() bool { return b.runs.active.Load() == 0 })
	eventually(t, "all sandboxes are closed", func() bool { return b.sandbox.Open() == 0 })
	c.alive()
}

func TestCancellationReachesTheToolCallUnderWay(t *testing.T) {
	b := newBench(t)
	called, cancelled := make(chan struct{}), make(chan struct{})
	b.servers.answer = func(ctx context.Context, _ string) (json.RawMessage, error) {
		close(called)
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	}
	c := connect(t, b.Server)
	c.execute(1, "call mcp__files__read", "")
	<-called
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no longer needed"}}`)
	select {
	case <-cancelled:
	case <-time.After(patience):
		t.Fatal("the call was not cancelled")
	}
	c.alive()
}

func TestStringAndNumberIDsDoNotMeet(t *testing.T) {
	b := newBench(t)
	c := connect(t, b.Server)
	c.execute(7, "wait", "")
	c.execute("7", "wait", "")
	eventually(t, "both run", func() bool { return b.runs.active.Load() == 2 })
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"7"}}`)
	eventually(t, "one has ended", func() bool { return b.runs.active.Load() == 1 })
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
	c.alive()
	if got := b.runs.active.Load(); got != 1 {
		t.Fatalf("%d programs under way, want the one with the numeric id", got)
	}
}

func TestCallsBeyondTheBoundWaitWhileOtherRequestsAreAnswered(t *testing.T) {
	b := newBench(t)
	c := connect(t, b.Server)
	const extra = 40
	for id := range maxCalls + extra {
		c.execute(id, "wait", "")
	}
	eventually(t, "all places are taken", func() bool { return b.runs.active.Load() == maxCalls })
	c.alive()
	c.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	if m := c.message(); string(m.ID) != `"list"` || len(m.Result.Tools) != 4 {
		t.Fatalf("tools/list answered with %+v", m)
	}
	for id := range maxCalls + extra {
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
	}
	eventually(t, "all programs have ended", func() bool { return b.runs.active.Load() == 0 })
	c.execute("after", "print still here", "")
	if m := c.message(); m.text() != "[Script executed successfully]\nstill here" {
		t.Fatalf("got %q", m.text())
	}
	if peak := b.runs.peak.Load(); peak > maxCalls {
		t.Fatalf("%d programs at once, at most %d allowed", peak, maxCalls)
	}
}

func TestManyCallsAtOnceAreEachAnsweredOnce(t *testing.T) {
	b := newBench(t)
	c := connect(t, b.Server)
	want := make(map[string]string)
	for id := range maxCalls {
		c.execute(id, fmt.Sprintf("emit %d", id), "")
		want[fmt.Sprint(id)] = fmt.Sprintf("[Script executed successfully]\n(no output)\n--- result ---\n%d", id)
	}
	for range maxCalls {
		m := c.message()
		if text, ok := want[string(m.ID)]; !ok || m.text() != text {
			t.Fatalf("id %s answered with %q, want %q", m.ID, m.text(), text)
		}
		delete(want, string(m.ID))
	}
}

func TestRequestsThatCannotBeTakenAreRefused(t *testing.T) {
	tests := []struct {
		name, line string
		id         string
		code       int
		says       string
	}{
		{"garbage", `not json`, `null`, -32700, "not valid JSON"},
		{"half a message", `{"jsonrpc":"2.0","id":1,`, `null`, -32700, "not valid JSON"},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `null`, -32600, "batches are not supported"},
		{"a broken batch", `[{"jsonrpc"`, `null`, -32700, "not valid JSON"},
		{"a string", `"ping"`, `null`, -32600, "not a JSON-RPC 2.0 object"},
		{"an empty object", `{}`, `null`, -32600, "neither a method nor an id"},
		{"a null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `null`, -32600, "string or a number"},
		{"an object as id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `null`, -32600, "string or a number"},
		{"a number as method", `{"jsonrpc":"2.0","id":4,"method":5}`, `4`, -32600, "not a JSON-RPC 2.0 object"},
		{"another version", `{"jsonrpc":"1.0","id":4,"method":"ping"}`, `4`, -32600, "version"},
		{"parameters as array", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":[1]}`, `4`, -32600, ""},
		{"an unknown method", `{"jsonrpc":"2.0","id":4,"method":"tools/frobnicate"}`, `4`, -32601, ""},
		{"an unknown tool", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"frobnicate"}}`, `4`, -32602, "frobnicate"},
		{"a version of the protocol nobody has", `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`, `4`, -32022, ""},
	}
	c := connect(t, newBench(t).Server)
	for _, test := range tests {
		c.send(`%s`, test.line)
		m := c.message()
		if m.Error == nil {
			t.Errorf("%s: no error: %+v", test.name, m)
			continue
		}
		if string(m.ID) != test.id || m.Error.Code != test.code || !strings.Contains(m.Error.Message, test.says) {
			t.Errorf("%s: got id %s, code %d, %q; want id %s, code %d, …%s…", test.name, m.ID, m.Error.Code, m.Error.Message, test.id, test.code, test.says)
		}
		c.alive()
	}
}

func TestMessagesThatNeedNoAnswerGetNone(t *testing.T) {
	c := connect(t, newBench(t).Server)
	for _, line := range []string{
		``,
		`   `,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/frobnicated","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
	} {
		c.send(`%s`, line)
		c.alive()
	}
}

func TestIDsComeBackExactly(t *testing.T) {
	c := connect(t, newBench(t).Server)
	for _, id := range []string{`0`, `-1`, `9007199254740993`, `1.5`, `""`, `"a\"<&>b"`, `"é"`} {
		c.send(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id)
		if m := c.message(); string(m.ID) != id || m.Error != nil {
			t.Errorf("id %s came back as %s", id, m.ID)
		}
	}
}

func TestIDInUseIsRefusedAndTheFirstRequestGoesOn(t *testing.T) {
	b := newBench(t)
	c := connect(t, b.Server)
	c.execute(1, "wait", "")
	eventually(t, "the program runs", func() bool { return b.runs.active.Load() == 1 })
	c.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if m := c.message(); m.Error == nil || !strings.Contains(m.Error.Message, "use a new id") {
		t.Fatalf("got %+v", m)
	}
	if got := b.runs.active.Load(); got != 1 {
		t.Fatalf("%d programs under way, want 1", got)
	}
}

func TestLineOverTheLimitIsRefusedAndTheNextOneServed(t *testing.T) {
	b := newBench(t)
	b.maxLine = 1 << 20
	c := connect(t, b.Server)
	go c.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"%s"}}`, strings.Repeat("x", 3<<20))
	m := c.message()
	if m.Error == nil || m.Error.Code != -32700 || !strings.Contains(m.Error.Message, "longer than 1048576 bytes") {
		t.Fatalf("got %+v", m)
	}
	c.alive()
}

func TestLargeProgramIsTaken(t *testing.T) {
	c := connect(t, newBench(t).Server)
	go c.execute(1, "print hello\n"+strings.Repeat("#", 1<<20), "")
	if m := c.message(); m.text() != "[Script executed successfully]\nhello" {
		t.Fatalf("got %q", shorten(m.text(), 200))
	}
}

func TestPanicFailsItsOwnRequestOnly(t *testing.T) {
	b := newBench(t)
	c := connect(t, b.Server)
	c.execute(1, "panic", "")
	m := c.message()
	if m.Error == nil || m.Error.Code != -32603 || !strings.Contains(m.Error.Message, "out of cheese") {
		t.Fatalf("got %+v", m)
	}
	c.alive()
	c.execute(2, "print on we go", "")
	if m := c.message(); m.text() != "[Script executed successfully]\non we go" {
		t.Fatalf("got %q", m.text())
	}
}

func TestEndOfInputCancelsTheProgramAndReturns(t *testing.T) {
	b := newBench(t)
	called := make(chan struct{})
	b.servers.answer = func(ctx context.Context, _ string) (json.RawMessage, error) {
		close(called)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c := connect(t, b.Server)
	c.execute(1, "print before\ncall mcp__files__read", "")
	<-called
	c.in.Close()
	if err := c.end(); err != nil {
		t.Fatalf("ServeStdio: %v", err)
	}
	if n := b.sandbox.Open(); n != 0 {
		t.Fatalf("%d sandboxes left", n)
	}
	// The client may still read what became of its call.
	m := c.message()
	if !m.Result.IsError || !strings.Contains(m.text(), "cancelled") || !strings.Contains(m.text(), "before") {
		t.Fatalf("got %q", m.text())
	}
}

func TestRequestsBeforeTheEndOfInputAreAnswered(t *testing.T) {
	c := connect(t, newBench(t).Server)
	if _, err := io.WriteString(c.in, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); err != nil { // no newline
		t.Fatal(err)
	}
	c.in.Close()
	if m := c.message(); len(m.Result.Tools) != 4 {
		t.Fatalf("got %+v", m)
	}
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
}

func TestBrokenOutputCancelsTheProgramAndReturns(t *testing.T) {
	b := newBench(t)
	c := connect(t, b.Server)
	c.execute(1, "wait", "")
	eventually(t, "the program runs", func() bool { return b.runs.active.Load() == 1 })
	c.out.Close()
	c.send(ping)
	if err := c.end(); err == nil || !strings.Contains(err.Error(), "write to the client") {
		t.Fatalf("ServeStdio: %v", err)
	}
	if n := b.sandbox.Open(); n != 0 {
		t.Fatalf("%d sandboxes left", n)
	}
}

func TestCancelledContextEndsTheServerWhileTheInputStaysOpen(t *testing.T) {
	b := newBench(t)
	c := connect(t, b.Server)
	c.execute(1, "wait", "")
	eventually(t, "the program runs", func() bool { return b.runs.active.Load() == 1 })
	c.cancel()
	if err := c.end(); err != nil {
		t.Fatalf("ServeStdio: %v", err)
	}
	if n := b.sandbox.Open(); n != 0 {
		t.Fatalf("%d sandboxes left", n)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("the disk is on fire") }

func TestBrokenInputIsAnError(t *testing.T) {
	err := newBench(t).ServeStdio(t.Context(), failingReader{}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "the disk is on fire") {
		t.Fatalf("ServeStdio: %v", err)
	}
}
