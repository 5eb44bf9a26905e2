package attack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// Verdict is what became of an attack.
type Verdict string

// The verdicts.
const (
	// Contained means that it ended as it should and got nothing.
	Contained Verdict = "contained"
	// Unclaimed means that it got what the backend says it does not stop here.
	Unclaimed Verdict = "not claimed"
	// Escaped means that something it tried has worked.
	Escaped Verdict = "escaped"
	// Unclear means that the run did not end as it should, so that nothing is
	// shown.
	Unclear Verdict = "unclear"
)

// Result is what became of one attack in a sandbox.
type Result struct {
	Attack   string  `json:"attack"`
	Title    string  `json:"title"`
	Expected string  `json:"expected"`
	Seen     string  `json:"seen"`
	Verdict  Verdict `json:"verdict"`
	// Attempts are the single things tried, as far as the program told.
	Attempts []Attempt `json:"attempts,omitempty"`
}

// Runner runs a program in a sandbox.
type Runner interface {
	Run(ctx context.Context, req executor.Request) *executor.Outcome
}

// runTimeout bounds a run that names no time of its own.
const runTimeout = 45 * time.Second

// Run makes the attack in one sandbox, or in two for a pair, and judges it.
func (a Attack) Run(ctx context.Context, runner Runner, b *Bait, is sandbox.Capabilities) Result {
	runs := 1
	if a.Pair {
		runs = 2
	}
	results := make([]Result, runs)
	var wg sync.WaitGroup
	for role := range runs {
		wg.Go(func() { results[role] = a.runOne(ctx, runner, b, is, role) })
	}
	wg.Wait()
	worst := results[0]
	for _, r := range results[1:] {
		if worst.Verdict == Contained {
			worst = r
		}
	}
	return worst
}

func (a Attack) runOne(ctx context.Context, runner Runner, b *Bait, is sandbox.Capabilities, role int) Result {
	source, err := a.Source(b, role, true)
	if err != nil {
		return Result{Attack: a.Name, Title: a.Title, Expected: a.expected(), Seen: err.Error(), Verdict: Unclear}
	}
	request := executor.Request{Source: source, Timeout: runTimeout}
	if a.Timeout > 0 {
		request.Timeout = a.Timeout
	}
	return a.Judge(runner.Run(ctx, request), b.Limits, is)
}

// Judge says what became of the attack, from the outcome of its run.
func (a Attack) Judge(outcome *executor.Outcome, limits Limits, is sandbox.Capabilities) Result {
	r := Result{Attack: a.Name, Title: a.Title, Expected: a.expected()}
	end := EndSilent
	account, told := a.Read(outcome.Output)
	switch {
	case outcome.Error != nil:
		end = End(outcome.Error.Kind)
		r.Seen = string(end) + ": " + outcome.Error.Message
	case told:
		end = EndReport
		r.Seen = account.Detail
	default:
		r.Seen = "ended without an account"
	}
	r.Attempts = account.Attempts
	switch {
	case len(outcome.Output) > limits.OutputBytes:
		r.Verdict = Escaped
		r.Seen = fmt.Sprintf("%d bytes of output were kept where %d are allowed", len(outcome.Output), limits.OutputBytes)
	case told && account.Succeeded && !a.claimed(is):
		r.Verdict = Unclaimed
	case told && account.Succeeded:
		r.Verdict = Escaped
		r.Seen = account.Detail
	case !slices.Contains(a.Ends, end):
		r.Verdict = Unclear
	default:
		r.Verdict = Contained
	}
	r.Seen = clean(r.Seen)
	for i := range r.Attempts {
		r.Attempts[i].What, r.Attempts[i].Detail = clean(r.Attempts[i].What), clean(r.Attempts[i].Detail)
	}
	return r
}

// claimed tells whether a backend claims to stop the attack.
func (a Attack) claimed(is sandbox.Capabilities) bool {
	switch a.Claim {
	case ClaimMemory:
		return is.Memory
	case ClaimProcesses:
		return is.Processes
	case ClaimScratch:
		return is.Scratch
	case ClaimFiles:
		return is.OwnFiles
	case ClaimDevices:
		return is.OwnDevices
	}
	return true
}

// expected says which ends are right, in words.
func (a Attack) expected() string {
	words := map[End]string{
		EndReport:                  "fails",
		EndSilent:                  "ends",
		End(executor.FailMemory):   "out of memory",
		End(executor.FailTimeout):  "timeout",
		End(executor.FailDied):     "dies",
		End(executor.FailProtocol): "bad frames",
	}
	list := make([]string, len(a.Ends))
	for i, end := range a.Ends {
		list[i] = words[end]
	}
	return strings.Join(list, " or ")
}

// clean makes one line of what a hostile program says, without a character
// that a terminal would obey, and not too long.
func clean(text string) string {
	const most = 300
	line, _, _ := strings.Cut(text, "\n")
	line = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, line)
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}
