package channel

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

var testLimits = Limits{FrameBytes: 1 << 20, EmitBytes: 1 << 10, OpenCalls: 4}

// stream is a channel whose other end has already said everything.
type stream struct {
	io.Reader
	bytes.Buffer
}

func (s *stream) Read(p []byte) (int, error) { return s.Reader.Read(p) }

func frames(bodies ...string) []byte {
	var b []byte
	for _, body := range bodies {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(body))), body...)
	}
	return b
}

// handler records what it is handed.
type handler struct {
	calls   []Call
	cancels []int64
	emits   []string
}

func (h *handler) Call(c Call)            { h.calls = append(h.calls, c) }
func (h *handler) Cancel(id int64)        { h.cancels = append(h.cancels, id) }
func (h *handler) Emit(v json.RawMessage) { h.emits = append(h.emits, string(v)) }
func conn(bodies ...string) (*Conn, *stream) {
	s := &stream{Reader: bytes.NewReader(frames(bodies...))}
	return New(s, testLimits), s
}

func TestServeHandsOnRawArgumentsAndValues(t *testing.T) {
	c, _ := conn(
		`{"type":"hello","protocol":1,"python":"3.9.2","runner":"ab"}`,
		`{"type":"call","id":1,"tool":"t","arguments":{"n": 12345678901234567890.10, "s":"\ud800"}}`,
		`{"arguments":{},"tool":"u","id":7,"type":"call"}`,
		`{"type":"cancel","id":1}`,
		`{"type":"emit","value":[1, 2]}`,
		`{"type":"done","outcome":"error","error":{"kind":"exit","type":"SystemExit","message":"3","traceback":"","line":2,"exit_code":3}}`,
	)
	hello, err := c.Hello()
	if err != nil || hello != (Hello{Python: "3.9.2", Runner: "ab"}) {
		t.Fatalf("hello %+v, %v", hello, err)
	}
	var h handler
	done, err := c.Serve(&h)
	if err != nil || done.Error == nil || done.Error.ExitCode != 3 || done.Error.Line != 2 {
		t.Fatalf("done %+v, %v", done.Error, err)
	}
	if len(h.calls) != 2 || string(h.calls[0].Arguments) != `{"n": 12345678901234567890.10, "s":"\ud800"}` || h.calls[1].ID != 7 {
		t.Errorf("calls %+v", h.calls)
	}
	if len(h.cancels) != 1 || h.cancels[0] != 1 {
		t.Errorf("cancels %v", h.cancels)
	}
	if len(h.emits) != 1 || h.emits[0] != `[1, 2]` {
		t.Errorf("emits %q", h.emits)
	}
}

func TestTheEndOfTheStreamIsToldFromATornFrame(t *testing.T) {
	c, _ := conn()
	if _, err := c.Serve(&handler{}); !errors.Is(err, io.EOF) || errors.Is(err, ErrViolation) {
		t.Errorf("after the last frame: %v", err)
	}
	whole := frames(`{"type":"emit","value":1}`)
	for n := 1; n < len(whole); n++ {
		c := New(&stream{Reader: bytes.NewReader(whole[:n])}, testLimits)
		if _, err := c.Serve(&handler{}); !errors.Is(err, ErrViolation) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

func TestEachCallIsAnsweredOnceWithItsRawValue(t *testing.T) {
	c, s := conn(`{"type":"call","id":1,"tool":"t","arguments":{}}`, `{"type":"call","id":2,"tool":"t","arguments":{}}`)
	if _, err := c.Serve(&handler{}); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	large := `"` + strings.Repeat("x", 200<<10) + `"`
	if err := c.Result(2, json.RawMessage(large)); err != nil {
		t.Fatal(err)
	}
	if err := c.Fail(1, "timeout", "t: too <slow>", true); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{1, 2, 3} {
		if err := c.Result(id, json.RawMessage("null")); !errors.Is(err, errAnswered) {
			t.Errorf("call %d answered again: %v", id, err)
		}
	}
	want := frames(`{"type":"result","id":2,"value":`+large+`}`, `{"type":"error","id":1,"kind":"timeout","message":"t: too \u003cslow\u003e","retryable":true}`)
	if !bytes.Equal(s.Bytes(), want) {
		t.Errorf("sent %.120q…", s.Bytes())
	}
}

// Frames of many goroutines arrive whole, those of a large value among them.
func TestFramesWrittenTogetherStayWhole(t *testing.T) {
	r, w := io.Pipe()
	answers := bufio.NewReader(r)
	c := New(struct {
		io.Reader
		io.Writer
	}{nil, w}, testLimits)
	const calls = 500
	for id := range int64(calls) {
		c.calls[id] = struct{}{}
	}
	var group sync.WaitGroup
	for id := range int64(calls) {
		value := json.RawMessage(`"` + strings.Repeat("x", int(id)%7*20_000) + `"`)
		group.Go(func() {
			if err := c.Result(id, value); err != nil {
				t.Error(err)
			}
		})
	}
	seen := map[int64]bool{}
	for range calls {
		body, err := readFrame(answers, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var frame struct {
			ID    int64
			Value string
		}
		if err := json.Unmarshal(body, &frame); err != nil {
			t.Fatal(err)
		}
		if len(frame.Value) != int(frame.ID)%7*20_000 || seen[frame.ID] {
			t.Errorf("call %d: %d bytes, seen %v", frame.ID, len(frame.Value), seen[frame.ID])
		}
		seen[frame.ID] = true
	}
	group.Wait()
}

// Splitting agrees with encoding/json on whatever is valid.
func TestSplittingAnObjectKeepsEveryValue(t *testing.T) {
	for _, text := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a":"}\"","b":[{"c":[1,2,{"d":"]"}]}] , "e" : null,"\u0066":-1.5e3 }`,
		`{"a":true,"b":{"x":1},"c":"" }`, "{\n\t\"a\" :\r 1 }", `{"a":[],"b":{}}`,
	} {
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		got := map[string]json.RawMessage{}
		members, err := splitObject(nil, []byte(text))
		if err != nil {
			t.Error(err)
		}
		for _, m := range members {
			got[string(m.key)] = m.value
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s gave %q, want %q", text, got, want)
		}
	}
}

func TestAnAnsweredCallMakesRoomForAnother(t *testing.T) {
	r, w := io.Pipe()
	c := New(struct {
		io.Reader
		io.Writer
	}{r, io.Discard}, Limits{FrameBytes: 1 << 20, OpenCalls: 1})
	answer := handlerFunc(func(call Call) {
		if err := c.Result(call.ID, json.RawMessage("1")); err != nil {
			t.Error(err)
		}
	})
	go func() {
		for id := range 100 {
			body := `{"type":"call","id":` + itoa(id+1) + `,"tool":"t","arguments":{}}`
			if _, err := w.Write(frames(body)); err != nil {
				return
			}
		}
		w.Close()
	}()
	if _, err := c.Serve(answer); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

type handlerFunc func(Call)

func (f handlerFunc) Call(c Call)          { f(c) }
func (f handlerFunc) Cancel(int64)         {}
func (f handlerFunc) Emit(json.RawMessage) {}
func itoa(n int) string                    { b, _ := json.Marshal(n); return string(b) }

// FuzzServe holds that no byte sequence makes the host panic, read past its
// limits, or hand on anything that is not valid JSON.
func FuzzServe(f *testing.F) {
	f.Add(frames(`{"type":"call","id":1,"tool":"t","arguments":{"a":[1,{"b":null}]}}`, `{"type":"done","outcome":"ok","error":null}`))
	f.Add(frames(`{"type":"emit","value":"\ud800"}`))
	f.Add(frames(`{"type":"done","outcome":"error","error":{"kind":"check"}}`))
	f.Add(frames(`{"type":"cancel","id":1}`))
	f.Add(frames(`{"a":1,"b":[],"c":{},"d":"\u00e9\\","e":-1.5e+3,"f":true,"g":false,"h":null}`))
	f.Add([]byte{0, 0, 0, 5, '{', '"', 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4 {
			checkSplit(t, data[4:])
		}
		var h handler
		_, err := New(&stream{Reader: bytes.NewReader(data)}, testLimits).Serve(&h)
		if err != nil && !errors.Is(err, ErrViolation) && !errors.Is(err, io.EOF) {
			t.Errorf("unclassified error: %v", err)
		}
		for _, c := range h.calls {
			if !json.Valid(c.Arguments) || c.ID < 1 {
				t.Errorf("handed on %+v", c)
			}
		}
		for _, e := range h.emits {
			if !json.Valid([]byte(e)) || len(e) > testLimits.EmitBytes {
				t.Errorf("handed on emit %q", e)
			}
		}
	})
}

// checkSplit holds that what splitObject takes is an object to encoding/json
// too, with the same members, and that it takes every small, flat one.
func checkSplit(t *testing.T, text []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	valid := json.Unmarshal(text, &want) == nil && want != nil && utf8.Valid(text)
	members, err := splitObject(nil, text)
	if err != nil {
		if message := err.Error(); valid && len(text) < maxDepth && !strings.Contains(message, "twice") && !strings.Contains(message, "unknown key") {
			t.Errorf("%q refused: %v", text, err)
		}
		return
	}
	got := map[string]json.RawMessage{}
	for _, m := range members {
		got[string(m.key)] = m.value
	}
	if !valid || !reflect.DeepEqual(got, want) {
		t.Errorf("%q gave %q, want %q (valid: %v)", text, got, want, valid)
	}
}

// BenchmarkRoundTrip measures the host's own part of one call: a frame read and
// decoded, an answer written.
func BenchmarkRoundTrip(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	var input []byte
	for id := range b.N {
		input = append(input, frames(`{"type":"call","id":`+itoa(id+1)+`,"tool":"mcp__server__echo","arguments":{"message":"hello"}}`)...)
	}
	c := New(struct {
		io.Reader
		io.Writer
	}{bytes.NewReader(input), null}, testLimits)
	value := json.RawMessage(`"hello"`)
	b.ResetTimer()
	_, err = c.Serve(handlerFunc(func(call Call) {
		if err := c.Result(call.ID, value); err != nil {
			b.Fatal(err)
		}
	}))
	if !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
}
