package executor_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
)

// runner plays the sandbox's end of the channel in a test.
type runner struct {
	in     *bufio.Reader
	out    io.Writer
	write  sync.Mutex
	output io.Writer
	marker []byte
	start  map[string]json.RawMessage
}

func (r *runner) send(format string, args ...any) {
	body := fmt.Sprintf(format, args...)
	r.raw(binary.BigEndian.AppendUint32(nil, uint32(len(body))), []byte(body))
}

func (r *runner) raw(parts ...[]byte) {
	r.write.Lock()
	defer r.write.Unlock()
	for _, p := range parts {
		if _, err := r.out.Write(p); err != nil {
			return // the host has closed the sandbox
		}
	}
}

func (r *runner) receive() (map[string]json.RawMessage, error) {
	var n uint32
	if err := binary.Read(r.in, binary.BigEndian, &n); err != nil {
		return nil, err
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r.in, body); err != nil {
		return nil, err
	}
	var frame map[string]json.RawMessage
	return frame, json.Unmarshal(body, &frame)
}

func (r *runner) print(s string) { _, _ = io.WriteString(r.output, s) }

func (r *runner) call(id int, name string) {
	r.send(`{"type":"call","id":%d,"tool":%q,"arguments":{"n":%d}}`, id, name, id)
}

// done ends the program as the real runner does.
func (r *runner) done() {
	_, _ = r.output.Write(r.marker)
	r.send(`{"type":"done","outcome":"ok","error":null}`)
}

const hello = `{"type":"hello","protocol":1,"python":"3.11.2","runner":"0123456789abcdef"}`

// fake is a backend whose sandboxes say hello, take the program and play script.
func fake(script func(*runner) sandbox.ExitStatus) *sandboxtest.Fake {
	return &sandboxtest.Fake{Runner: func(ch io.ReadWriter, output io.Writer) sandbox.ExitStatus {
		r := &runner{in: bufio.NewReader(ch), out: ch, output: output}
		r.send(hello)
		start, err := r.receive()
		if err != nil {
			return sandbox.ExitStatus{}
		}
		r.start = start
		var marker string
		_ = json.Unmarshal(start["marker"], &marker)
		r.marker, _ = hex.DecodeString(marker)
		return script(r)
	}}
}

// finish waits for the end of the runner's input, as a runner does after done.
func (r *runner) finish() sandbox.ExitStatus {
	_, _ = io.Copy(io.Discard, r.in)
	return sandbox.ExitStatus{}
}

type callerFunc func(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error)

func (f callerFunc) CallTool(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error) {
	return f(ctx, name, arguments)
}

func echo(_ context.Context, _ string, arguments json.RawMessage) (json.RawMessage, error) {
	return arguments, nil
}

func testLimits() executor.Limits {
	return executor.Limits{
		Timeout: time.Minute, ToolCallTimeout: time.Minute,
		MaxToolCalls: 10_000, MaxConcurrentCalls: 8,
		MaxToolResultBytes: 1 << 20, MaxOutputBytes: 64 << 10,
		MemoryBytes: 512 << 20, CPUs: 1, Processes: 64, ScratchBytes: 64 << 20, OpenFiles: 256,
	}
}

// execute runs script with caller and checks that its sandbox was closed.
func execute(t *testing.T, limits executor.Limits, caller callerFunc, req executor.Request, script func(*runner) sandbox.ExitStatus) *executor.Outcome {
	t.Helper()
	return executeContext(t, t.Context(), limits, caller, req, script)
}

func executeContext(t *testing.T, ctx context.Context, limits executor.Limits, caller callerFunc, req executor.Request, script func(*runner) sandbox.ExitStatus) *executor.Outcome {
	t.Helper()
	backend := fake(script)
	e := executor.New(backend, caller, limits, slog.New(slog.DiscardHandler))
	o := e.Run(ctx, req)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if n := backend.Open(); n != 0 {
		t.Errorf("%d sandboxes left open", n)
	}
	return o
}
