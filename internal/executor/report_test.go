package executor

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

func TestTheTextOfARun(t *testing.T) {
	failed := &Failure{Kind: FailException, Message: "Traceback (most recent call last):\nValueError: no", Line: 3}
	calls := []Call{
		{Tool: "mcp__s__write", Status: CallOK},
		{Tool: "mcp__s__write", Status: CallOK},
		{Tool: "mcp__s__read", Status: CallOK, ReadOnly: true},
		{Tool: "mcp__s__send", Status: CallFailed, Kind: tool.KindTimeout, Error: "mcp__s__send: no answer", OutcomeUnknown: true},
	}
	for _, test := range []struct {
		name    string
		outcome Outcome
		trace   string
		want    string
	}{
		{"success", Outcome{OK: true, output: whole("a\nb\n")}, TraceSummary,
			"[Script executed successfully]\na\nb"},
		{"success without output", Outcome{OK: true}, TraceSummary,
			"[Script executed successfully]\n(no output)"},
		{"a result", Outcome{OK: true, output: whole("a\n"), Result: json.RawMessage(`{"x":1}`)}, TraceSummary,
			"[Script executed successfully]\na\n--- result ---\n{\"x\":1}"},
		{"calls", Outcome{OK: true, Calls: calls, Figures: Figures{Tools: 2340 * time.Millisecond}}, TraceSummary,
			"[Script executed successfully]\n(no output)\n[tool calls: 4, 1 failed; 2.3s]\n  mcp__s__send: no answer"},
		{"calls without a trace", Outcome{OK: true, Calls: calls}, "off",
			"[Script executed successfully]\n(no output)"},
		{"failure", Outcome{Error: failed}, "off",
			"[Script execution failed]\nTraceback (most recent call last):\nValueError: no\n[nothing was changed; the program can be run again]"},
		{"failure with output", Outcome{Error: failed, output: whole("so far\n")}, "off",
			"[Script execution failed]\nTraceback (most recent call last):\nValueError: no\n\n--- output before the error ---\nso far\n[nothing was changed; the program can be run again]"},
		{"failure after calls that change something", Outcome{Error: failed, Calls: calls}, "off",
			"[Script execution failed]\nTraceback (most recent call last):\nValueError: no\n[already done, do not repeat: mcp__s__write ×2]\n[outcome unknown, check before repeating: mcp__s__send]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.outcome.Text(test.trace, 64<<10); got != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}

// Whatever a run leaves behind, neither rendering is ever longer than the cap
// (fault 7), and both are valid (fault 1).
func TestNothingThatGoesToTheModelIsOverTheCap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"x", "é", "\n", "\x00", "<", "\xff", "😀", `"`, "\\", "\u2028"}
	random := func(n int) string {
		piece := strings.Repeat(alphabet[rng.IntN(len(alphabet))]+alphabet[rng.IntN(len(alphabet))], n)
		return piece[:min(len(piece), n)]
	}
	for range 150 {
		max := 1024 << rng.IntN(7)
		p := newPrinted(max, []byte("0123456789abcdef"), nil)
		for range rng.IntN(20) {
			p.write([]byte(random(rng.IntN(3 * max))))
		}
		o := Outcome{OK: rng.IntN(2) == 0, output: p.snapshot()}
		if !o.OK {
			o.Error = &Failure{Kind: FailException, Message: random(rng.IntN(3 * max))}
		}
		if rng.IntN(2) == 0 {
			value, err := json.Marshal(strings.Repeat("<", rng.IntN(max/12)))
			if err != nil {
				t.Fatal(err)
			}
			o.Result = cleanJSON(value)
		}
		for range rng.IntN(1000) {
			o.Calls = append(o.Calls, Call{
				Tool: "mcp__s__" + random(rng.IntN(60)), Error: random(rng.IntN(5000)),
				Status: []CallStatus{CallOK, CallFailed, CallCancelled}[rng.IntN(3)], OutcomeUnknown: rng.IntN(2) == 0,
			})
		}
		text := o.Text(TraceSummary, max)
		if len(text) > max || !utf8.ValidString(text) {
			t.Fatalf("text of %d bytes (cap %d), valid %v", len(text), max, utf8.ValidString(text))
		}
		if !strings.HasPrefix(text, "[Script execut") {
			t.Fatalf("text begins with %.60q", text)
		}
		structured, err := json.Marshal(o.Structured(max))
		if err != nil {
			t.Fatal(err)
		}
		if len(structured) > max || !json.Valid(structured) {
			t.Fatalf("structured content of %d bytes, cap %d", len(structured), max)
		}
	}
}

func TestClippingKeepsBothEndsAndCountsTheMiddle(t *testing.T) {
	for _, test := range []struct {
		name string
		text text
		max  int
		want string
	}{
		{"what fits stays", whole("all of it"), 9, "all of it"},
		{"the middle goes", whole(strings.Repeat("a", 100) + strings.Repeat("b", 100)), 60, strings.Repeat("a", 15) + "\n[… 170 bytes left out …]\n" + strings.Repeat("b", 15)},
		{"what was never kept counts", text{head: "aaaa", tail: "bbbb", total: 1_000_000}, 100, "aaaa\n[… 999992 bytes left out …]\nbbbb"},
		{"no character is cut in two", whole(strings.Repeat("é", 100)), 61, strings.Repeat("é", 8) + "\n[… 170 bytes left out …]\n" + strings.Repeat("é", 7)},
		{"no room at all", whole(strings.Repeat("a", 100)), 5, "[100 "},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.text.clip(test.max); got != test.want || len(got) > test.max {
				t.Errorf("got %q (%d bytes)", got, len(got))
			}
		})
	}
}
