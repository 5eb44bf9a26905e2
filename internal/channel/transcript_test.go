package channel

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// step is one frame of a transcript (testdata/README.md).
type step struct {
	From  string          `json:"from"`
	Frame json.RawMessage `json:"frame"`
}

var placeholder = regexp.MustCompile(`\{\{\w+\}\}`)

// The runner's tests replay the same files from the other side.
func TestTheHostFollowsTheTranscripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var steps []step
			if err := json.Unmarshal(raw, &steps); err != nil {
				t.Fatal(err)
			}
			replay(t, steps)
		})
	}
}

func replay(t *testing.T, steps []step) {
	toHost, fromRunner := io.Pipe()
	toRunner, fromHost := io.Pipe()
	wire := bufio.NewReader(toRunner)
	defer toHost.Close()
	defer toRunner.Close()
	handled := make(chan map[string]any, len(steps)) // what Serve handed over or returned
	done := make(chan Done, 1)

	var c *Conn
	host := struct {
		io.Reader
		io.Writer
	}{toHost, fromHost}
	serve := func() {
		d, err := c.Serve(&transcriptHandler{handled})
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("serve: %v", err)
		}
		done <- d
	}
	for _, s := range steps {
		var frame map[string]any
		if err := json.Unmarshal(s.Frame, &frame); err != nil {
			t.Fatal(err)
		}
		if s.From == "runner" {
			body := placeholder.ReplaceAll(s.Frame, []byte("x"))
			sent := make(chan error, 1)
			go func() {
				_, err := fromRunner.Write(frames(string(body)))
				sent <- err
			}()
			switch frame["type"] {
			case "hello":
				c = New(host, Limits{FrameBytes: 1 << 20, EmitBytes: 1 << 16, OpenCalls: 4096})
				if _, err := c.Hello(); err != nil {
					t.Fatal(err)
				}
			case "done":
				d := <-done
				if (d.Error == nil) != (frame["outcome"] == "ok") {
					t.Errorf("done %+v, want %v", d.Error, frame)
				}
			default:
				if got := <-handled; got["type"] != frame["type"] || (got["id"] != nil && got["id"] != frame["id"]) {
					t.Errorf("handed over %v, want %v", got, frame)
				}
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			continue
		}
		hostSends(t, c, frame, s.Frame, wire)
		if frame["type"] == "start" {
			go serve()
		}
	}
}

// hostSends lets the host send a frame and compares what went over the wire.
func hostSends(t *testing.T, c *Conn, frame map[string]any, raw json.RawMessage, wire *bufio.Reader) {
	t.Helper()
	sent := make(chan error, 1)
	go func() {
		switch frame["type"] {
		case "start":
			var s struct {
				Source, Filename, Marker string
				Tools                    json.RawMessage
				Servers                  []string
				Limits                   Limits
			}
			if err := json.Unmarshal(raw, &s); err != nil {
				sent <- err
				return
			}
			c.limits = s.Limits
			sent <- c.Start(Start{Source: s.Source, Filename: s.Filename, Marker: s.Marker, Tools: s.Tools, Servers: s.Servers})
		case "result":
			var r struct {
				ID    int64
				Value json.RawMessage
			}
			if err := json.Unmarshal(raw, &r); err != nil {
				sent <- err
				return
			}
			sent <- c.Result(r.ID, r.Value)
		case "error":
			var e struct {
				ID            int64
				Kind, Message string
				Retryable     bool
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				sent <- err
				return
			}
			sent <- c.Fail(e.ID, e.Kind, e.Message, e.Retryable)
		default:
			sent <- errors.New("a host sends no such frame")
		}
	}()
	body, err := readFrame(wire, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, frame) {
		t.Errorf("sent %v\nwant %v", got, frame)
	}
}

// transcriptHandler hands what it is handed to the test.
type transcriptHandler struct{ handled chan<- map[string]any }

func (h *transcriptHandler) Call(c Call) {
	h.handled <- map[string]any{"type": "call", "id": float64(c.ID)}
}
func (h *transcriptHandler) Cancel(id int64) {
	h.handled <- map[string]any{"type": "cancel", "id": float64(id)}
}
func (h *transcriptHandler) Emit(json.RawMessage) { h.handled <- map[string]any{"type": "emit"} }
