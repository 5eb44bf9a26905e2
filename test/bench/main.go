// Command bench measures ptc-mcp as its users have it, through MCP over stdio,
// against floors measured in the same run: the bare life of a container, bare
// round trips to the tools' server from Go, and the bare channel with a caller
// in memory. It prints one table a sandbox; the ratios are what to compare,
// since absolute times are the machine's.
//
//	go run ./test/bench [-sandbox docker,native,none] [-runs 30] [-json file]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/native"
)

func main() {
	native.Init() // the native sandbox starts this binary again as its supervisor
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	flag.StringVar(&o.binary, "binary", "bin/ptc-mcp", "the ptc-mcp to measure")
	flag.StringVar(&o.image, "image", os.Getenv("PTC_MCP_TEST_IMAGE"), "the image to run programs in")
	flag.StringVar(&o.python, "python", "python3", "the interpreter for sandboxes without an image")
	flag.IntVar(&o.runs, "runs", 30, "runs behind each median")
	sandboxes := flag.String("sandbox", "docker,native,none", "the sandboxes to measure, separated by commas")
	file := flag.String("json", "", "also write the figures to this file")
	flag.Parse()
	if err := run(ctx, o, strings.Split(*sandboxes, ","), *file, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	binary, image, python string
	runs                  int
	server                string // the test server, built by run
}

// report is everything one invocation measured.
type report struct {
	GoVersion string  `json:"go"`
	CPUs      int     `json:"cpus"`
	Tables    []table `json:"tables"`
}

// table holds the rows of one sandbox.
type table struct {
	Sandbox string `json:"sandbox"`
	Rows    []row  `json:"rows"`
}

// row compares one figure with its floor. A row without a floor has no ratio.
type row struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	// P99 is the figure's 99th percentile where it was measured often enough.
	P99   float64 `json:"p99,omitempty"`
	Floor float64 `json:"floor,omitempty"`
	Note  string  `json:"note,omitempty"`
}

func (r row) ratio() string {
	if r.Floor == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", r.Value/r.Floor)
}

func run(ctx context.Context, o options, sandboxes []string, file string, out io.Writer) error {
	dir, err := os.MkdirTemp("", "ptc-mcp-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o.server = filepath.Join(dir, "ptc-testserver")
	if b, err := exec.CommandContext(ctx, "go", "build", "-o", o.server, "./test/servers/ptc-testserver").CombinedOutput(); err != nil {
		return fmt.Errorf("build the test server: %w\n%s", err, b)
	}
	// The real interpreter: what is on PATH may be a script that looks for it.
	python, err := exec.CommandContext(ctx, o.python, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return fmt.Errorf("%s: %w", o.python, err)
	}
	o.python = strings.TrimSpace(string(python))
	r := report{GoVersion: runtime.Version(), CPUs: runtime.NumCPU()}
	for _, sandbox := range sandboxes {
		t, err := measure(ctx, o, dir, sandbox)
		if err != nil {
			return fmt.Errorf("%s: %w", sandbox, err)
		}
		r.Tables = append(r.Tables, t)
		t.print(out)
	}
	if file == "" {
		return nil
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o600)
}

func (t table) print(out io.Writer) {
	fmt.Fprintf(out, "\n## %s\n\n| case | median | p99 | floor | ratio | |\n|---|---|---|---|---|---|\n", t.Sandbox)
	for _, r := range t.Rows {
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", r.Name, figure(r.Value, r.Unit), figure(r.P99, r.Unit), figure(r.Floor, r.Unit), r.ratio(), r.Note)
	}
}

func figure(v float64, unit string) string {
	switch {
	case v == 0:
		return ""
	case v < 10:
		return fmt.Sprintf("%.2f %s", v, unit)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}
