//go:build unix

package seatbelt

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// crm answers every call of its one tool.
type crm struct{}

func (crm) CallTool(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`{"late": 3}`), nil
}

var table = tool.Table{Wire: json.RawMessage(`[{"n":"mcp__crm__list","s":"crm","t":"list","p":[]}]`)}

func TestWholeRuns(t *testing.T) {
	for _, c := range []struct{ name, source, output, failure string }{
		{"a call and a temporary file", `
import tempfile
with tempfile.TemporaryFile("w+") as file:
    file.write(str(await mcp__crm__list()))
    file.seek(0)
    print(file.read())`, "{'late': 3}\n", ""},
		{"an exception", "print('before')\n1 / 0", "before\n", "ZeroDivisionError"},
		{"too much memory", "print('before')\nhoard = []\nwhile True: hoard.append(b'x' * (1 << 20))", "before\n", "max_memory_bytes"},
		{"a full scratch folder", "print('before')\nn = 0\nwhile True:\n    open(str(n), 'w').close()\n    n += 1", "before\n", "max_scratch_bytes"},
		{"a file that is too large", "open('big', 'wb').write(b'x' * (8 << 20))", "", "File too large"},
		{"its time is up", "print('before')\nwhile True: pass", "before\n", "timed out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := executor.New(newTestBackend(t, ""), crm{}, executor.Limits{
				Timeout: patience, ToolCallTimeout: patience, MaxToolCalls: 10, MaxConcurrentCalls: 2,
				MaxToolResultBytes: 1 << 20, MaxOutputBytes: 1 << 16,
				MemoryBytes: 128 << 20, ScratchBytes: 4 << 20, OpenFiles: 64,
			}, slog.New(slog.DiscardHandler))
			request := executor.Request{Source: c.source, Filename: "<program>", Tools: table}
			if c.failure == "timed out" {
				request.Timeout = 2 * time.Second
			}
			outcome := run.Run(t.Context(), request)
			var failure string
			if outcome.Error != nil {
				failure = outcome.Error.Message
			}
			if outcome.Output != c.output || outcome.OK != (c.failure == "") || !strings.Contains(failure, c.failure) {
				t.Errorf("printed %q, failed with %q", outcome.Output, failure)
			}
		})
	}
}
