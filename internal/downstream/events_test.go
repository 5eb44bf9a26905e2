package downstream

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestEventsAreReadAsTheStandardSays(t *testing.T) {
	long := strings.Repeat("z", 3*readBuffer)
	for _, test := range []struct {
		name, stream string
		want         []string // name=data
		lastID       string
		retry        time.Duration
	}{
		{"one event", "data: a\n\n", []string{"message=a"}, "", 0},
		{"carriage returns", "event: e\r\ndata: a\r\n\r\n", []string{"e=a"}, "", 0},
		{"several data lines are joined", "data: a\ndata:b\ndata\ndata:  c\n\n", []string{"message=a\nb\n\n c"}, "", 0},
		{"comments and unknown fields", ": hi\n:\nfoo: x\nbar\ndata: a\n\n", []string{"message=a"}, "", 0},
		{"the name does not outlive its event", "event: e\n\nevent: f\ndata: a\n\ndata: b\n\n", []string{"f=a", "message=b"}, "", 0},
		{"ids count once the event is complete", "id: 1\n\nid: 2\ndata: a\n\nid: 3\n", []string{"message=a"}, "2", 0},
		{"the reconnection time", "retry: 250\nretry: x\ndata: a\n\n", []string{"message=a"}, "", 250 * time.Millisecond},
		{"an end without a blank line", "data: a", []string{"message=a"}, "", 0},
		{"a line longer than the buffer", "data: " + long + "\n\ndata: b\n\n", []string{"message=" + long, "message=b"}, "", 0},
		{"a long line of another field", "foo: " + long + "\ndata: b\n\n", []string{"message=b"}, "", 0},
		{"nothing", "", nil, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(test.stream), iotest.HalfReader(strings.NewReader(test.stream))} {
				events := newEventReader(r, 1<<20)
				var got []string
				var err error
				for {
					var ev event
					if ev, err = events.next(); err != nil {
						break
					}
					got = append(got, ev.name+"="+string(ev.data.bytes()))
				}
				if !errors.Is(err, io.EOF) || !slices.Equal(got, test.want) {
					t.Errorf("got %.200q, %v", got, err)
				}
				if events.lastID != test.lastID || events.retry != test.retry {
					t.Errorf("last id %q, retry %v", events.lastID, events.retry)
				}
			}
		})
	}
}

func TestAnOversizeEventDoesNotCostTheNext(t *testing.T) {
	stream := `data: {"result":"` + strings.Repeat("z", 300000) + "\",\ndata: \"id\":5}\n\ndata: b\n\n"
	events := newEventReader(strings.NewReader(stream), 1000)
	ev, err := events.next()
	if err != nil || !ev.data.tooLarge() || ev.data.id.id != "5" {
		t.Fatalf("%v, %+v", err, ev.data)
	}
	if ev, err = events.next(); err != nil || string(ev.data.bytes()) != "b" {
		t.Errorf("next event: %v", err)
	}
}

func TestTheLastLinesOfStderrAreKept(t *testing.T) {
	l := &lastLines{}
	for i := range 100 {
		_, _ = io.WriteString(l, strings.Repeat("x", i*50)+"\r\nsecond "+string(rune('a'+i%26)))
		_, _ = io.WriteString(l, "\n\n")
	}
	_, _ = io.WriteString(l, "open \xff")
	lines := strings.Split(l.String(), "\n")
	if len(lines) != stderrLines+1 || lines[len(lines)-1] != "open \uFFFD" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
	for _, line := range lines {
		if len(line) > stderrLineSize || strings.Contains(line, "\r") {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	if got := lastLine("a\n b \n\n \n"); got != "b" {
		t.Errorf("last line is %q", got)
	}
}

func TestRPCErrorsAreReadLeniently(t *testing.T) {
	for raw, want := range map[string]RPCError{
		`{"code":-32000,"message":"m","data":null}`: {Code: -32000, Message: "m"},
		`"just text"`:                 {Code: -32603, Message: "just text"},
		`{"code":"E1","message":"m"}`: {Code: -32603, Message: "m"},
		`{"code":4.0}`:                {Code: 4, Message: `{"code":4.0}`},
		`[1]`:                         {Code: -32603, Message: `[1]`},
	} {
		if got := parseRPCError([]byte(raw)); got.Code != want.Code || got.Message != want.Message {
			t.Errorf("%s: %+v", raw, got)
		}
	}
}
