// Command bench measures ptc-mcp as its users have it, through MCP over stdio
// against the built binary, and the floors of the machine in the same run, taken
// in turn. It says for each row what the bar is, what was seen, and whether the
// bar is met.
//
//	go run ./test/bench [-sandbox docker,native,none] [-rows REGEXP] [-quick | -full]
//	                    [-json FILE] [-markdown FILE] [-page docs/performance.md]
//	go run ./test/bench -from FILE -page docs/performance.md
//	go run ./test/bench -other 'COMMAND' [-sandbox native]
//
// docs/performance.md says how to read the figures, and how to have another
// server measured.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
)

// settings are the command line.
type settings struct {
	Binary    string   `json:"-"`
	Image     string   `json:"image,omitempty"`
	Python    string   `json:"-"`
	Sandboxes []string `json:"sandboxes"`
	Quick     bool     `json:"quick,omitempty"`
	Full      bool     `json:"full,omitempty"`
	Awake     bool     `json:"awake,omitempty"`
	Other     string   `json:"other,omitempty"`
	// Execution and OtherExecution are lines under execution, for ptc-mcp and
	// for the other server.
	Execution      []string `json:"execution,omitempty"`
	OtherExecution []string `json:"other_execution,omitempty"`
	// Profiles is a folder for profiles of ptc-mcp.
	Profiles string `json:"-"`

	rows *regexp.Regexp
}

// outputs are the files to be written, and read.
type outputs struct{ json, markdown, page, from string }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, files, err := parse(args, stderr)
	if err != nil {
		return err
	}
	var r report
	if files.from != "" {
		r, err = readReport(files.from)
	} else {
		r, err = measure(ctx, o, stderr)
	}
	// What was measured before an interruption is still written.
	return errors.Join(err, files.write(r, stdout))
}

func parse(args []string, stderr io.Writer) (settings, outputs, error) {
	var (
		o                      settings
		f                      outputs
		sandboxes, rows        string
		execution, otherConfig string
		err                    error
	)
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Binary, "binary", "bin/ptc-mcp", "the ptc-mcp to measure")
	flags.StringVar(&o.Image, "image", os.Getenv("PTC_MCP_TEST_IMAGE"), "the image to run programs in")
	flags.StringVar(&o.Python, "python", "python3", "the interpreter for sandboxes without an image")
	flags.StringVar(&sandboxes, "sandbox", "docker,native,none", "the sandboxes to measure, separated by commas")
	flags.StringVar(&rows, "rows", "", "measure only the rows whose name matches this `regexp`")
	flags.BoolVar(&o.Quick, "quick", false, "a few samples of each: to see that it works, not to judge")
	flags.BoolVar(&o.Full, "full", false, "the long rows too, and growth over its whole range")
	flags.BoolVar(&o.Awake, "awake", false, "keep idle processors from halting: to wake a virtual one may take longer than a call")
	flags.StringVar(&o.Other, "other", "", "measure the MCP server that this shell `command` starts, side by side; {config} and {mcpServers} in it stand for its configuration files")
	flags.StringVar(&execution, "execution", "", "further `lines` under execution in the configuration, separated by semicolons")
	flags.StringVar(&otherConfig, "other-execution", "", "the same for the other server")
	flags.StringVar(&o.Profiles, "profiles", "", "leave a CPU and an allocation profile of every ptc-mcp in this `folder`")
	flags.StringVar(&f.json, "json", "", "write everything that was measured to this `file`")
	flags.StringVar(&f.markdown, "markdown", "", "write the tables to this `file` instead of standard output")
	flags.StringVar(&f.page, "page", "", "renew the measured part of this `file`, and the charts in the folder beside it")
	flags.StringVar(&f.from, "from", "", "measure nothing, take the figures from this JSON `file`")
	if err := flags.Parse(args); err != nil {
		return o, f, err
	}
	if flags.NArg() > 0 {
		return o, f, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.Quick && o.Full {
		return o, f, errors.New("-quick and -full exclude each other")
	}
	if o.rows, err = regexp.Compile(rows); err != nil {
		return o, f, fmt.Errorf("-rows: %w", err)
	}
	o.Sandboxes = words(sandboxes, ",")
	for _, name := range o.Sandboxes {
		if name != "docker" && name != "native" && name != "none" {
			return o, f, fmt.Errorf("-sandbox: %q is not docker, native or none", name)
		}
	}
	o.Execution, o.OtherExecution = words(execution, ";"), words(otherConfig, ";")
	return o, f, nil
}

// words are the parts of a list, without the empty ones.
func words(list, separator string) []string {
	var out []string
	for part := range strings.SplitSeq(list, separator) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func readReport(file string) (report, error) {
	var r report
	b, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

func (f outputs) write(r report, stdout io.Writer) error {
	var errs []error
	if f.json != "" {
		b, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			err = os.WriteFile(f.json, append(b, '\n'), 0o644)
		}
		errs = append(errs, err)
	}
	switch {
	case f.markdown != "":
		errs = append(errs, os.WriteFile(f.markdown, []byte(markdown(r)), 0o644))
	case f.page == "":
		_, err := io.WriteString(stdout, markdown(r))
		errs = append(errs, err)
	}
	if f.page != "" {
		errs = append(errs, renewPage(f.page, r))
	}
	return errors.Join(errs...)
}
