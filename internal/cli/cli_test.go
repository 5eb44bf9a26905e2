package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

func TestExitCodeOfEveryKindOfError(t *testing.T) {
	tests := []struct {
		name string
		err  error
		code int
		text string
	}{
		{"none", nil, 0, ""},
		{"bad usage", usageErrorf("no such flag"), 2, "no such flag"},
		{"wrapped bad usage", fmt.Errorf("run: %w", usageErrorf("no such flag")), 2, "run: no such flag"},
		{"no sandbox", fmt.Errorf("docker: %w", sandbox.ErrUnavailable), 3, "docker: sandbox unavailable"},
		{"interrupted", fmt.Errorf("doctor: %w", context.Canceled), 130, "interrupted"},
		{"already said", &exitError{code: 4}, 4, ""},
		{"anything else", errors.New("broken pipe"), 1, "broken pipe"},
	}
	for _, test := range tests {
		if got := exitCode(test.err); got != test.code {
			t.Errorf("%s: exit code %d, want %d", test.name, got, test.code)
		}
		if got := failureText(test.err); got != test.text {
			t.Errorf("%s: text %q, want %q", test.name, got, test.text)
		}
	}
}

func TestTimeFlagTakesSecondsAndUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "0.5": 500 * time.Millisecond, "1m30s": 90 * time.Second, "250ms": 250 * time.Millisecond,
		"": 0, "0": 0, "-1": 0, "soon": 0, "NaN": 0, "Inf": 0, "1e300": 0,
	} {
		var s secondsFlag
		err := s.Set(text)
		if (err == nil) != (want > 0) || time.Duration(s) != want {
			t.Errorf("%q: %v, %v; want %v", text, time.Duration(s), err, want)
		}
	}
}

func TestSummaryCountsCallsByTool(t *testing.T) {
	o := &executor.Outcome{
		Calls: []executor.Call{
			{Tool: "mcp__a__read", Status: executor.CallOK},
			{Tool: "mcp__b__write", Status: executor.CallFailed, Error: "mcp__b__write: denied\nat some length"},
			{Tool: "mcp__a__read", Status: executor.CallOK},
			{Tool: "mcp__b__write", Status: executor.CallFailed, Error: "mcp__b__write: again"},
		},
		Figures: executor.Figures{
			Sandbox: "docker", Wall: 300 * time.Millisecond, Boot: 90 * time.Millisecond, Tools: 150 * time.Millisecond,
			ToolResultBytes: 164_000, OutputBytes: 412,
		},
	}
	want := `4 tool calls in 150 ms
     2 × mcp__a__read
     2 × mcp__b__write, 2 failed: denied
164 kB stayed in the sandbox, 412 bytes printed
300 ms: 90 ms start, 60 ms program, 150 ms tools; sandbox docker
`
	if got := summary(o); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSummaryIsBounded(t *testing.T) {
	o := &executor.Outcome{}
	for n := range 500 {
		o.Calls = append(o.Calls, executor.Call{Tool: fmt.Sprintf("mcp__s__t%d", n), Status: executor.CallFailed, Error: strings.Repeat("x", 10_000)})
	}
	got := summary(o)
	if lines := strings.Count(got, "\n"); lines > maxSummaryTools+5 || len(got) > 8000 {
		t.Errorf("%d lines, %d bytes", lines, len(got))
	}
	if !strings.Contains(got, "and 480 more tools") {
		t.Errorf("the rest is not counted: %q", got)
	}
}

func TestServersThatAFailedProgramNeeded(t *testing.T) {
	servers := []tool.Server{
		{Name: "crm", Error: "connection refused"},
		{Name: "wiki", Connecting: true},
		{Name: "files", Connected: true},
	}
	lost := executor.Call{Tool: "mcp__crm__get", Status: executor.CallFailed, Kind: tool.KindConnection}
	tests := []struct {
		name    string
		outcome executor.Outcome
		source  string
		want    string
	}{
		{"a failed check of a tool that is not there", executor.Outcome{Error: &executor.Failure{Kind: executor.FailCheck}}, "await mcp__crm__get()", "crm (connection refused)"},
		{"a lost connection", executor.Outcome{Error: &executor.Failure{Kind: executor.FailException}, Calls: []executor.Call{lost}}, "await mcp__crm__get()", "crm (connection refused)"},
		{"one still connecting", executor.Outcome{Error: &executor.Failure{Kind: executor.FailCheck}}, "await wiki.read()", "wiki (still connecting)"},
		{"a fault of the program itself", executor.Outcome{Error: &executor.Failure{Kind: executor.FailException}}, "await mcp__crm__get()", ""},
		{"a server that is there", executor.Outcome{Error: &executor.Failure{Kind: executor.FailCheck}}, "await mcp__files__reed()", ""},
	}
	for _, test := range tests {
		if got := strings.Join(missingServers(&test.outcome, test.source, servers), "; "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestSizesAndTimesStayShort(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 9_999: "9999 bytes", 164_234: "164 kB", 64 << 20: "67 MB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 ms", 1500 * time.Millisecond: "1500 ms", 90 * time.Second: "90.0 s"} {
		if got := short(d); got != want {
			t.Errorf("short(%v) = %q, want %q", d, got, want)
		}
	}
}
