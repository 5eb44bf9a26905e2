package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
)

// maxSummaryTools bounds the tools that a summary lists.
const maxSummaryTools = 20

// summary says in a few lines what a run called and what it cost.
func summary(o *executor.Outcome) string {
	var b strings.Builder
	f := o.Figures
	if total := len(o.Calls); total > 0 {
		tools := perTool(o.Calls)
		fmt.Fprintf(&b, "%s in %s\n", plural(total, "tool call"), short(f.Tools))
		for i, t := range tools {
			if i == maxSummaryTools {
				fmt.Fprintf(&b, "  … and %s\n", plural(len(tools)-i, "more tool"))
				break
			}
			fmt.Fprintf(&b, "  %4d × %s", t.calls, t.name)
			if t.failed > 0 {
				fmt.Fprintf(&b, ", %d failed: %s", t.failed, t.firstError)
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s stayed in the sandbox, %s printed\n", size(f.ToolResultBytes), size(f.OutputBytes))
	}
	fmt.Fprintf(&b, "%s: %s start, %s program, %s tools; sandbox %s\n",
		short(f.Wall), short(f.Boot), short(max(f.Wall-f.Boot-f.Tools, 0)), short(f.Tools), f.Sandbox)
	return b.String()
}

type toolSummary struct {
	name          string
	calls, failed int
	firstError    string
}

// perTool counts the calls of each tool, in the order of the first calls.
func perTool(calls []executor.Call) []toolSummary {
	var list []toolSummary
	index := make(map[string]int)
	for _, c := range calls {
		i, ok := index[c.Tool]
		if !ok {
			i = len(list)
			index[c.Tool] = i
			list = append(list, toolSummary{name: c.Tool})
		}
		t := &list[i]
		t.calls++
		if c.Status == executor.CallOK {
			continue
		}
		if t.failed++; t.failed == 1 {
			line, _, _ := strings.Cut(c.Error, "\n")
			t.firstError = shorten(strings.TrimPrefix(line, c.Tool+": "), 120)
		}
	}
	return list
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size writes a number of bytes with a unit that keeps it short.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%d MB", (n+500_000)/1_000_000)
}

// short writes a duration in milliseconds below ten seconds, else in seconds.
func short(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func shorten(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
