package mcpserver

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
)

func TestProgressComesBeforeTheResult(t *testing.T) {
	for name, meta := range map[string]string{
		"with the initialize handshake": `{"progressToken":"tok"}`,
		"with metadata per request":     `{"progressToken":"tok","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, newBench(t).Server)
			for id := range 50 {
				c.execute(id, strings.Repeat("call mcp__files__read\n", 5), meta)
				progress := 0.0
				for {
					m := c.message()
					if m.Method == "" {
						if string(m.ID) != fmt.Sprint(id) {
							t.Fatalf("answer to %s, want %d", m.ID, id)
						}
						break
					}
					if m.Method != "notifications/progress" || string(m.Params.Token) != `"tok"` {
						t.Fatalf("got %+v", m)
					}
					if m.Params.Progress <= progress {
						t.Fatalf("progress went from %v to %v", progress, m.Params.Progress)
					}
					progress = m.Params.Progress
				}
				if progress == 0 {
					t.Fatal("no progress before the result")
				}
			}
		})
	}
}

func TestNoProgressUnlessAskedFor(t *testing.T) {
	c := connect(t, newBench(t).Server)
	for _, meta := range []string{`{}`, `{"progressToken":null}`, `{"progressToken":[]}`} {
		c.execute(1, "call mcp__files__read", meta)
		if m := c.message(); string(m.ID) != "1" {
			t.Fatalf("with %s: got %+v", meta, m)
		}
	}
}

func TestProgressTokenComesBackExactly(t *testing.T) {
	c := connect(t, newBench(t).Server)
	c.execute(1, "call mcp__files__read", `{"progressToken":9007199254740993}`)
	if m := c.message(); string(m.Params.Token) != "9007199254740993" {
		t.Fatalf("token came back as %s", m.Params.Token)
	}
}

func TestProgressIsSentAtMostTenTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var times []time.Time
		p := newProgressReporter(func(float64, string) {
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Now())
		})
		for n := range 2000 {
			p.report(executor.Progress{Started: n + 1, Finished: n})
			<-time.After(time.Millisecond) // of the bubble's own time
		}
		p.stop()
		if len(times) < 15 || len(times) > 21 {
			t.Errorf("%d notifications in two seconds", len(times))
		}
		for i := 1; i < len(times); i++ {
			if gap := times[i].Sub(times[i-1]); gap < progressInterval {
				t.Errorf("two notifications within %v", gap)
			}
		}
	})
}

func TestProgressOfAClientThatDoesNotReadBlocksNothing(t *testing.T) {
	release := make(chan struct{})
	p := newProgressReporter(func(float64, string) { <-release })
	for n := range 1000 {
		p.report(executor.Progress{Started: n + 1})
	}
	close(release)
	p.stop()
}

func TestProgressMessageSaysWhatHappened(t *testing.T) {
	var got string
	p := newProgressReporter(func(_ float64, message string) { got = message })
	p.report(executor.Progress{Started: 12, Finished: 10, Failed: 1, Last: "mcp__files__read"})
	p.stop()
	if want := "tool calls: 12 made, 2 under way, 1 failed; last mcp__files__read"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
