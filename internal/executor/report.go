package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// TraceSummary is the value of execution.trace that adds the line of calls.
const TraceSummary = "summary"

const (
	successHeader = "[Script executed successfully]"
	failureHeader = "[Script execution failed]"
	noOutput      = "(no output)"
	maxFailures   = 5   // failed calls listed in a trace
	maxLineBytes  = 240 // of one failed call in a trace
	maxNames      = 20  // tools named in a receipt
)

// emitBytes is the largest emit value of a run that may return max bytes: half,
// so that what was printed keeps a place beside it.
func emitBytes(max int) int { return max / 2 }

// Text is what the model reads of the run, at most max bytes of valid UTF-8.
// What says how the run ended comes first and is kept; of what was printed, the
// middle is left out when it does not fit. trace is TraceSummary or "off".
func (o *Outcome) Text(trace string, max int) string {
	header, separator := successHeader+"\n", ""
	if !o.OK {
		header = failureHeader + "\n" + whole(o.Error.Message).clip(max/3) + "\n"
		separator = "\n--- output before the error ---\n"
	}
	var footer strings.Builder
	if o.Result != nil {
		footer.WriteString("\n--- result ---\n")
		footer.Write(o.Result)
	}
	if !o.OK {
		footer.WriteString(whole(o.receipt().String()).clip(max / 16))
	}
	if trace == TraceSummary {
		footer.WriteString(whole(o.trace()).clip(max / 16))
	}

	room := max - len(header) - len(separator) - footer.Len() - 1
	if room < 0 {
		return whole(header + footer.String()).clip(max)
	}
	printed := strings.TrimSuffix(o.output.clip(room), "\n")
	switch {
	case printed != "":
		printed = separator + printed
	case o.OK:
		printed = noOutput
	}
	return whole(strings.TrimRight(header+printed, "\n") + footer.String()).clip(max)
}

// milliseconds is d in seconds, to the millisecond.
func milliseconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// trace is one line that counts the calls, then the first failures; it begins
// with a line break, and is empty when there was no call.
func (o *Outcome) trace() string {
	t := o.tally()
	if t.Total == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n[tool calls: %d", t.Total)
	if t.Failed > 0 {
		fmt.Fprintf(&b, ", %d failed", t.Failed)
	}
	if t.Cancelled > 0 {
		fmt.Fprintf(&b, ", %d cancelled", t.Cancelled)
	}
	fmt.Fprintf(&b, "; %.1fs]", t.Seconds)
	for _, f := range t.Failures {
		b.WriteString("\n  " + f)
	}
	if more := t.Failed - len(t.Failures); more > 0 && len(t.Failures) > 0 {
		fmt.Fprintf(&b, "\n  … and %d more", more)
	}
	return b.String()
}

// Tally sums up a run's calls.
type Tally struct {
	Total     int `json:"total"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled,omitempty"`
	// Seconds is the time in which at least one call was under way.
	Seconds float64 `json:"seconds"`
	// Failures are the first failed calls, a line each.
	Failures []string `json:"failures,omitempty"`
	Receipt
}

// Receipt says what a failed run may have changed: tools that are not read-only.
type Receipt struct {
	// Changed names the tools whose calls succeeded, with their number.
	Changed []string `json:"changed,omitempty"`
	// Unknown names those whose calls may have had their effect although no
	// answer came.
	Unknown []string `json:"outcome_unknown,omitempty"`
	// Untouched is true when no call reached a tool that is not read-only.
	Untouched bool `json:"untouched,omitempty"`
}

func (o *Outcome) tally() Tally {
	t := Tally{Seconds: milliseconds(o.Figures.Tools), Receipt: o.receipt()}
	recordedBudget := 0
	for i := range o.Calls {
		c := &o.Calls[i]
		t.Total++
		if c.Kind == tool.KindBudget {
			recordedBudget++
		}
		switch {
		case c.Status == CallOK:
			continue
		case c.Kind == tool.KindCancelled:
			t.Cancelled++
		default:
			t.Failed++
			if len(t.Failures) < maxFailures {
				line, _, _ := strings.Cut(c.Error, "\n")
				t.Failures = append(t.Failures, whole(line).clip(maxLineBytes))
			}
		}
	}
	unrecorded := o.Refused - recordedBudget
	t.Total += unrecorded
	t.Failed += unrecorded
	return t
}

func (o *Outcome) receipt() Receipt {
	r := Receipt{Untouched: true}
	var changed, unknown counter
	for i := range o.Calls {
		c := &o.Calls[i]
		if c.ReadOnly || c.Status == CallRefused {
			continue
		}
		r.Untouched = false
		switch {
		case c.Status == CallOK:
			changed.add(c.Tool)
		case c.OutcomeUnknown:
			unknown.add(c.Tool)
		}
	}
	r.Changed, r.Unknown = changed.lines(), unknown.lines()
	return r
}

// String is the receipt as the model reads it, beginning with a line break.
func (r Receipt) String() string {
	var b strings.Builder
	if len(r.Changed) > 0 {
		fmt.Fprintf(&b, "\n[already done, do not repeat: %s]", join(r.Changed))
	}
	if len(r.Unknown) > 0 {
		fmt.Fprintf(&b, "\n[outcome unknown, check before repeating: %s]", join(r.Unknown))
	}
	if r.Untouched {
		b.WriteString("\n[nothing was changed; the program can be run again]")
	}
	return b.String()
}

// counter counts names in the order in which they first came.
type counter struct {
	order []string
	count map[string]int
}

func (c *counter) add(name string) {
	if c.count == nil {
		c.count = make(map[string]int)
	}
	if c.count[name]++; c.count[name] == 1 {
		c.order = append(c.order, name)
	}
}

func (c *counter) lines() []string {
	var lines []string
	for i, name := range c.order {
		if i == maxNames {
			lines = append(lines, fmt.Sprintf("%d more tools", len(c.order)-maxNames))
			break
		}
		if n := c.count[name]; n > 1 {
			name = fmt.Sprintf("%s ×%d", name, n)
		}
		lines = append(lines, name)
	}
	return lines
}

// Structured is the structured content of a run.
type Structured struct {
	OK        bool            `json:"ok"`
	Output    string          `json:"output"`
	Result    json.RawMessage `json:"result"`
	Error     *string         `json:"error"`
	ToolCalls Tally           `json:"tool_calls"`
	Failure   *StructFailure  `json:"failure,omitempty"`
	Figures   StructFigures   `json:"figures"`
}

// StructFailure classifies Structured.Error.
type StructFailure struct {
	Kind     FailureKind `json:"kind"`
	Line     int         `json:"line,omitempty"`
	ExitCode int         `json:"exit_code,omitempty"`
}

// StructFigures are a run's measures, times in seconds to the millisecond. They
// are few: clients that know structured content show the model this instead of
// the text.
type StructFigures struct {
	Run     string `json:"run"`
	Sandbox string `json:"sandbox"`
	// Seconds is the whole run, the start of the sandbox included.
	Seconds float64 `json:"seconds"`
	// ToolResultBytes stayed in the sandbox; OutputBytes were printed, before
	// the cap.
	ToolResultBytes int64 `json:"tool_result_bytes"`
	OutputBytes     int64 `json:"output_bytes"`
}

// Structured is the run as structured content, at most max bytes once it is
// JSON: escapes count.
func (o *Outcome) Structured(max int) Structured {
	f := o.Figures
	s := Structured{
		OK: o.OK, Result: o.Result, ToolCalls: o.tally(),
		Figures: StructFigures{
			Run: o.ID, Sandbox: f.Sandbox, Seconds: milliseconds(f.Wall),
			ToolResultBytes: f.ToolResultBytes, OutputBytes: f.OutputBytes,
		},
	}
	if o.OK {
		s.ToolCalls.Receipt = Receipt{}
	}
	if o.Error != nil {
		message := clipJSON(whole(o.Error.Message), max/3)
		s.Error = &message
		s.Failure = &StructFailure{Kind: o.Error.Kind, Line: o.Error.Line, ExitCode: o.Error.ExitCode}
	}
	// What says least about how the run ended goes first.
	for _, drop := range []func(){
		func() {},
		func() { s.ToolCalls.Failures = nil },
		func() { s.Result = resultLeftOut(o.Result) },
		func() { s.ToolCalls.Changed, s.ToolCalls.Unknown = nil, nil },
	} {
		drop()
		if size := jsonSize(s); size <= max {
			s.Output = clipJSON(o.output, max-size)
			break
		}
	}
	return s
}

// resultLeftOut stands for an emit value that fits the text but, escaped once
// more, not the structured content.
func resultLeftOut(result json.RawMessage) json.RawMessage {
	if result == nil {
		return nil
	}
	return json.RawMessage(fmt.Sprintf(`"[result of %d bytes left out; see the text]"`, len(result)))
}

// clipJSON clips t so that it takes at most max bytes as a JSON string.
func clipJSON(t text, max int) string {
	for room := max; room > 0; {
		s := t.clip(room)
		size := jsonSize(s) - len(`""`)
		if size <= max {
			return s
		}
		room = min(room-1, int(int64(room)*int64(max)/int64(size)))
	}
	return ""
}

// jsonSize is the length of v as encoding/json writes it, escapes for HTML
// included, since that is what the protocol library sends.
func jsonSize(v any) int {
	b, err := json.Marshal(v)
	if err != nil { // cannot be: every part is plain or has been re-encoded
		return 0
	}
	return len(b)
}

// cleanJSON re-encodes a value from the sandbox, so that what goes to the client
// is well formed whatever the sandbox sent: lone surrogates become U+FFFD,
// numbers keep their digits.
func cleanJSON(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
