package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The benchmark itself, end to end, on the row about the smallest program.
// What it measures is not judged here: the machine is busy with other tests.
func TestAQuickRunMeasuresAndReports(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "ptc-mcp")
	build := exec.Command("go", "build", "-race", "-o", binary, "github.com/ptc-mcp/ptc-mcp/cmd/ptc-mcp")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(dir, "bench.json")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var tables, progress strings.Builder
	err := run(ctx, []string{"-binary", binary, "-quick", "-sandbox", "none", "-rows", "^print-warm$", "-json", file}, &tables, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Results) != 1 {
		t.Fatalf("%d results of one row", len(r.Results))
	}
	for _, res := range r.Results {
		if res.Error != "" {
			t.Errorf("%s: %s", res.Row, res.Error)
		}
		subject := res.subject()
		if subject == nil || subject.N != 3 || subject.P50 <= 0 || subject.CPU <= 0 || subject.PeakMB <= 0 {
			t.Errorf("%s: measured %+v", res.Row, subject)
		}
		if !strings.Contains(tables.String(), res.Title) {
			t.Errorf("%s is not in the tables:\n%s", res.Title, tables.String())
		}
	}
}

func TestARowThatFailsIsReportedAndTheNextBegins(t *testing.T) {
	o, _, err := parse([]string{"-sandbox", "none"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var progress strings.Builder
	s := &stage{bench: &bench{settings: o, progress: &progress}, sandbox: "none"}
	results := s.rows(t.Context(), []row{
		{name: "broken", title: "a broken row", measure: func(_ context.Context, _ *stage, r *result) error {
			r.Series = append(r.Series, single("ptc-mcp", "", 7))
			return io.ErrUnexpectedEOF
		}},
		{name: "sound", title: "a sound row", measure: func(_ context.Context, _ *stage, r *result) error {
			r.Series = append(r.Series, single("ptc-mcp", "", 1))
			return nil
		}},
	})
	if len(results) != 2 || results[0].Error != io.ErrUnexpectedEOF.Error() || results[1].Error != "" {
		t.Fatalf("results %+v", results)
	}
	text := markdown(report{Options: o, Results: results})
	for _, want := range []string{"| a broken row | 7.00 / 7.00 / 7.00; n 1 | | | **failed** | |", "unexpected EOF", "| a sound row | 1.00 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if got := progress.String(); !strings.Contains(got, "failed: unexpected EOF") {
		t.Errorf("progress %q", got)
	}
}

func TestBadFlagsAreErrors(t *testing.T) {
	for name, args := range map[string][]string{
		"an unknown sandbox":    {"-sandbox", "docker,cage"},
		"no regular expression": {"-rows", "("},
		"quick and full":        {"-quick", "-full"},
		"an argument":           {"print"},
		"an unknown flag":       {"-slow"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := parse(args, io.Discard); err == nil {
				t.Error("taken")
			}
		})
	}
}
