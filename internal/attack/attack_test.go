package attack

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

func TestEveryProgramHasAHeaderAndIsPython(t *testing.T) {
	list := All()
	if len(list) < 50 {
		t.Errorf("%d attacks, where more than 50 are packaged", len(list))
	}
	bait := &Bait{Token: "x"}
	sources := map[string]string{}
	for _, a := range list {
		source, err := a.Source(bait, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		sources[a.Name] = source
		reports := strings.Contains(source, "\nreport()") || a.Name == "runner_replaced"
		if slices.Contains(a.Ends, EndReport) && !reports {
			t.Errorf("%s gives no account, which its header promises", a.Name)
		}
	}
	text, err := json.Marshal(sources)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "python3", "-c", `
import ast, json, sys
for name, source in json.load(sys.stdin).items():
    ast.parse(source, name)`)
	command.Stdin = bytes.NewReader(text)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("not Python: %s", out)
	}
}

func TestABadHeaderIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key":     "# Title: t\n# Tries: t\n# Seen: s\n# Wants: x\n",
		"unknown end":     "# Title: t\n# Tries: t\n# Seen: s\n# Ends: report, glory\n",
		"unknown claim":   "# Title: t\n# Tries: t\n# Seen: s\n# Claims: fame\n",
		"no title":        "# Tries: t\n# Seen: s\n",
		"bad time":        "# Title: t\n# Tries: t\n# Seen: s\n# Seconds: soon\n",
		"bad number runs": "# Title: t\n# Tries: t\n# Seen: s\n# Runs: three\n",
	} {
		if a, err := parse("bad", text+"pass\n"); err == nil {
			t.Errorf("%s: accepted as %+v", name, a)
		}
	}
}

func TestTheVerdictFollowsFromTheOutcome(t *testing.T) {
	const name = "x"
	limits := Limits{OutputBytes: 1000}
	lost := `{"attack":"x","succeeded":false,"detail":"all refused","attempts":[]}`
	won := `{"attack":"x","succeeded":true,"detail":"read a file","attempts":[]}`
	died := &executor.Failure{Kind: executor.FailDied, Message: "gone\nmore"}
	enforces := sandbox.Capabilities{Memory: true}
	for title, c := range map[string]struct {
		attack  Attack
		outcome executor.Outcome
		is      sandbox.Capabilities
		want    Verdict
	}{
		"failed, as it should":              {Attack{Ends: []End{EndReport}}, executor.Outcome{OK: true, Output: "noise\n" + lost + "\n"}, enforces, Contained},
		"succeeded":                         {Attack{Ends: []End{EndReport}}, executor.Outcome{OK: true, Output: won}, enforces, Escaped},
		"succeeded and then died":           {Attack{Ends: []End{EndDied}}, executor.Outcome{Error: died, Output: won}, enforces, Escaped},
		"an account of another attack":      {Attack{Ends: []End{EndReport}}, executor.Outcome{OK: true, Output: strings.Replace(lost, `"x"`, `"y"`, 1)}, enforces, Unclear},
		"no account":                        {Attack{Ends: []End{EndReport}}, executor.Outcome{OK: true, Output: "hello"}, enforces, Unclear},
		"no account, as it should":          {Attack{Ends: []End{EndSilent}}, executor.Outcome{OK: true}, enforces, Contained},
		"died, as it should":                {Attack{Ends: []End{EndReport, EndDied}}, executor.Outcome{Error: died}, enforces, Contained},
		"died, as it should not":            {Attack{Ends: []End{EndReport}}, executor.Outcome{Error: died, Output: lost}, enforces, Unclear},
		"too much output":                   {Attack{Ends: []End{EndReport}}, executor.Outcome{OK: true, Output: strings.Repeat("x", 2000) + "\n" + lost}, enforces, Escaped},
		"over a limit that is enforced":     {Attack{Ends: []End{EndReport}, Claim: ClaimMemory}, executor.Outcome{OK: true, Output: won}, enforces, Escaped},
		"over a limit that is not enforced": {Attack{Ends: []End{EndReport}, Claim: ClaimMemory}, executor.Outcome{OK: true, Output: won}, sandbox.Capabilities{}, Unclaimed},
		"by files that are shared":          {Attack{Ends: []End{EndReport}, Claim: ClaimFiles}, executor.Outcome{OK: true, Output: won}, sandbox.Capabilities{OwnDevices: true}, Unclaimed},
		"by files, though they are not":     {Attack{Ends: []End{EndReport}, Claim: ClaimFiles}, executor.Outcome{OK: true, Output: won}, sandbox.Capabilities{OwnFiles: true}, Escaped},
		"by devices that are shared":        {Attack{Ends: []End{EndReport}, Claim: ClaimDevices}, executor.Outcome{OK: true, Output: won}, sandbox.Capabilities{OwnFiles: true}, Unclaimed},
		"by devices, though they are not":   {Attack{Ends: []End{EndReport}, Claim: ClaimDevices}, executor.Outcome{OK: true, Output: won}, sandbox.Capabilities{OwnDevices: true}, Escaped},
	} {
		c.attack.Name = name
		if got := c.attack.Judge(&c.outcome, limits, c.is); got.Verdict != c.want {
			t.Errorf("%s: judged %q (%s), want %q", title, got.Verdict, got.Seen, c.want)
		}
	}
}

func TestWhatAProgramSaysCannotCommandATerminal(t *testing.T) {
	a := Attack{Name: "x", Ends: []End{EndReport}}
	output := `{"attack":"x","succeeded":true,"detail":"\u001b]0;owned\u0007\nsecond","attempts":[{"what":"a\u001b[2J","detail":"\u009b"}]}`
	got := a.Judge(&executor.Outcome{OK: true, Output: output}, Limits{OutputBytes: 1000}, sandbox.Capabilities{})
	for _, text := range []string{got.Seen, got.Attempts[0].What, got.Attempts[0].Detail} {
		if strings.ContainsAny(text, "\x1b\x07\u009b\n") {
			t.Errorf("%q is shown as it is", text)
		}
	}
}

// EndDied is one of the kinds of failure that a header may name.
const EndDied = End(executor.FailDied)

func TestRemovedBaitLeavesNothing(t *testing.T) {
	bait, err := Lay(t.Context(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(bait.File); err != nil || !strings.Contains(string(text), bait.Token) {
		t.Errorf("the bait's file: %q, %v", text, err)
	}
	if len(bait.Addresses) == 0 {
		t.Error("no address can be reached")
	}
	bait.Remove()
	if _, err := os.Stat(bait.Folder); !os.IsNotExist(err) {
		t.Errorf("the bait's folder is still there: %v", err)
	}
	if err := exec.CommandContext(t.Context(), "kill", "-0", "--", strconv.Itoa(bait.PID)).Run(); err == nil {
		t.Error("the bait's process still runs")
	}
}
