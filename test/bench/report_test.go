package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/test/bench/stats"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// summary has what the tables show of n samples around v.
func summary(v float64, n int) stats.Summary {
	return stats.Summary{N: n, Min: v / 2, P50: v, P90: 2 * v, P99: 3 * v, Max: 3 * v, Mean: v}
}

// measured is a report with every kind of row in it.
func measured() report {
	warm := result{Row: "print-warm", Title: "`print(1)`, pool warm", Sandbox: "docker", Unit: "ms", Series: []series{
		{Name: "ptc-mcp", Kind: subjectKind, Summary: summary(4, 100), CPU: 1.5, PeakMB: 20},
		{Name: warmFloor, Kind: floorKind, Summary: summary(0.6, 100)},
	}}
	warm.most("p50", 4, 3, attachedWarm)
	warm.most("p99", 12, 15, attachedWarm)
	calls := result{Row: "calls-sequential", Title: "1000 calls", Sandbox: "docker", Unit: "ms", Series: []series{
		{Name: "ptc-mcp", Kind: subjectKind, Summary: summary(400, 20)},
		{Name: "bare server", Kind: floorKind, Summary: summary(100, 20)},
		{Name: "bare channel", Kind: floorKind, Summary: summary(200, 20)},
	}}
	calls.over("p50", 400, 300, 1.25, 0, nil)
	calls.over("p50", 400, 300, 1.3, 15, &reference{"bare channel", 100})
	calls.over("p50", 340, 300, 1, 60, nil)
	calls.note("the floor is the sum")
	rate := result{Row: "rate", Title: "runs", Sandbox: "docker", Unit: "a second", Series: []series{
		{Name: "ptc-mcp", Kind: subjectKind, Summary: summary(10, 4)},
		{Name: "bare starts by 8", Kind: floorKind, Summary: summary(11, 4)},
	}}
	rate.share("p50", 10, rate.Series[1], 0.9)
	rate.least("p50", 10, 150, rate.Series[1], 45)
	grown := result{Row: "growth-calls", Title: "calls", Sandbox: "docker", Unit: "ms", Growth: &growth{Of: "calls"}}
	for _, x := range []float64{10, 100, 1000} {
		grown.Growth.Points = append(grown.Growth.Points, growthPoint{X: x, Summary: summary(1+x/10, 5)})
	}
	grown.straight(grown.Growth.Points, straightBar)
	return report{
		Machine: machine{Date: "2026-01-02 03:04 UTC", Version: "ptc-mcp 1", CPU: "A processor", Cores: 2, MemGB: 4, OS: "linux/amd64", Kernel: "6.1", Go: "go1.26", Python: "3.11", Load: 0.5},
		Options: settings{Sandboxes: []string{"docker", "native"}},
		Results: []result{
			{Row: "floors-mcp", Title: "a bare server", Unit: "ms", Series: []series{{Name: "10 MB", Kind: floorKind, Summary: summary(9, 10)}}},
			warm, calls, rate, grown,
			{Row: "start", Title: "start", Sandbox: "native", Unit: "ms", Error: "it did\nnot start | at all"},
		},
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: -update rewrites it; got\n%s", path, got)
	}
}

func TestTables(t *testing.T) { golden(t, "report.golden", markdown(measured())) }

func TestComparison(t *testing.T) {
	r := measured()
	r.Options.Other = "other"
	for i := range r.Results {
		if s := r.Results[i].subject(); s != nil {
			r.Results[i].Series = append(r.Results[i].Series, series{Name: "other", Kind: otherKind, Summary: summary(3*s.P50, s.N), CPU: 7})
		}
	}
	golden(t, "comparison.golden", markdown(r))
}

func TestVerdicts(t *testing.T) {
	r := result{Unit: "ms", Series: []series{{Name: warmFloor, Kind: floorKind, Summary: summary(0.7, 1)}}}
	r.most("p50", 2, 3, attachedWarm)  // under the bar
	r.most("p50", 5, 3, attachedWarm)  // over it, but this machine is half as fast
	r.most("p50", 50, 3, attachedWarm) // over both
	r.over("p50", 130, 100, 1.3, 0, nil)
	r.over("p50", 131, 100, 1.3, 0, nil)
	r.over("p50", 160, 100, 1, 60, nil)
	r.over("p50", 161, 100, 1, 60, nil)
	r.least("p50", 150, 150, series{}, 0)
	r.least("p50", 149, 150, series{}, 0)
	r.least("p50", 60, 150, r.Series[0], 1)
	r.over("p50", 150, 100, 1, 20, &reference{warmFloor, 0.2}) // this machine is 3.5 times slower
	want := []string{"met", "met as a ratio", "**not met**", "met", "**not met**", "met", "**not met**", "met", "**not met**", "**not met**", "met as a ratio"}
	for i, c := range r.Checks {
		if c.verdict() != want[i] {
			t.Errorf("check %d: %s, want %s: %+v", i, c.verdict(), want[i], c)
		}
	}
}

func TestThePageKeepsWhatWasWrittenByHand(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "performance.md")
	if err := os.WriteFile(page, []byte("# By hand\n\n"+pageBegin+"old\n"+pageEnd+"\nThe end.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := renewPage(page, measured()); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(b)
	for _, want := range []string{"# By hand\n", "\nThe end.\n", "2026-01-02 03:04 UTC", "(performance/calls.svg)", "(performance/latency.svg)"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is there %d times in\n%s", want, strings.Count(got, want), got)
		}
	}
	if strings.Contains(got, "old\n") {
		t.Errorf("the old figures are still there:\n%s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "performance", "calls.svg")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(page, []byte("nothing to write between"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := renewPage(page, measured()); err == nil {
		t.Error("a page without a measured part was written")
	}
}
