package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/test/bench/floor"
	"github.com/ptc-mcp/ptc-mcp/test/bench/subject"
)

// bench is one invocation.
type bench struct {
	settings
	dir        string // for what it builds
	testServer string
	syscalls   *floor.Syscalls // nil without a C compiler
	progress   io.Writer
}

// stage is one sandbox, and what its rows are measured with.
type stage struct {
	*bench
	sandbox  string
	starter  floor.Starter
	launches []subject.Launch // ptc-mcp, then the other server if there is one
	// settle is how long a pool of one may need to fill again, and used
	// sandboxes to be gone.
	settle time.Duration
}

// measure measures every chosen row. The error says that there was nothing to
// measure with, or that it was interrupted; what failed of a row is in its
// result.
func measure(ctx context.Context, o settings, progress io.Writer) (report, error) {
	dir, err := os.MkdirTemp("", "ptc-mcp-bench-")
	if err != nil {
		return report{}, err
	}
	defer os.RemoveAll(dir)
	b := &bench{settings: o, dir: dir, testServer: filepath.Join(dir, "ptc-testserver"), progress: progress}
	if err := b.prepare(ctx); err != nil {
		return report{}, err
	}
	r := report{Machine: facts(ctx, b.settings), Options: b.settings}
	if o.Awake {
		stop, err := keepAwake(ctx)
		if err != nil {
			fmt.Fprintf(progress, "%v\n", err)
		} else {
			r.Machine.Awake = true
			defer stop()
		}
	}
	if b.Other == "" {
		r.Results = append(r.Results, (&stage{bench: b}).rows(ctx, machineRows)...)
	}
	for _, name := range b.Sandboxes {
		if ctx.Err() != nil {
			break
		}
		s, err := b.stage(ctx, name)
		if err != nil {
			fmt.Fprintf(progress, "%s: %v\n", name, err)
			r.Results = append(r.Results, result{Row: "stage", Title: "preparation", Sandbox: name, Error: err.Error()})
			continue
		}
		if c, ok := s.starter.(*floor.Containers); ok {
			r.Machine.Engine = c.Engine(ctx)
		}
		r.Results = append(r.Results, s.rows(ctx, sandboxRows)...)
		if c, ok := s.starter.(io.Closer); ok {
			c.Close()
		}
	}
	return r, ctx.Err()
}

// prepare builds what is measured with.
func (b *bench) prepare(ctx context.Context) error {
	if _, err := os.Stat(b.Binary); err != nil {
		return fmt.Errorf("%w; make build makes it", err)
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.testServer, "github.com/ptc-mcp/ptc-mcp/test/servers/ptc-testserver").CombinedOutput(); err != nil {
		return fmt.Errorf("build the test server: %w\n%s", err, out)
	}
	// The real interpreter: what is on PATH may be a script that looks for it.
	python, err := exec.CommandContext(ctx, b.Python, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return fmt.Errorf("%s: %w", b.Python, err)
	}
	b.Python = strings.TrimSpace(string(python))
	if b.syscalls, err = floor.NewSyscalls(ctx, b.dir); err != nil {
		fmt.Fprintf(b.progress, "the kernel's own floors are left out: %v\n", err)
	}
	return nil
}

// stage prepares one sandbox: a server is started in it once, to see how long
// it takes to be ready, and for containers to be copied.
func (b *bench) stage(ctx context.Context, name string) (*stage, error) {
	s := &stage{bench: b, sandbox: name, starter: floor.Processes{Python: b.Python}, settle: 150 * time.Millisecond}
	s.launches = []subject.Launch{{
		Name: "ptc-mcp", TestServer: b.testServer, Binary: b.Binary, Sandbox: name, Python: b.Python, Extra: b.Execution, Stderr: b.progress,
	}}
	if name == "docker" {
		s.launches[0].Image = b.Image
	}
	server, err := s.launches[0].Start(ctx, one)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	if err := server.Ready(ctx, "print(1)"); err != nil {
		return nil, err
	}
	if name == "docker" {
		if s.starter, err = floor.NewContainers(ctx, server.PID()); err != nil {
			return nil, err
		}
	}
	took, err := floor.FirstByte(ctx, s.starter, floor.WithAsyncio)
	if err != nil {
		return nil, err
	}
	s.settle = min(max(s.settle, 3*took), time.Second)
	if b.Other != "" {
		s.launches = append(s.launches, subject.Launch{
			Name: "other", TestServer: b.testServer, Command: b.Other, Extra: b.OtherExecution, Stderr: b.progress,
		})
	}
	return s, nil
}

// rows measures those of the rows that are chosen. One that fails is reported,
// and the next begins.
func (s *stage) rows(ctx context.Context, rows []row) []result {
	var results []result
	for _, row := range rows {
		if !s.chosen(row) || ctx.Err() != nil {
			continue
		}
		r := result{Row: row.name, Title: row.title, Sandbox: s.sandbox, Unit: row.unit}
		if s.Profiles != "" && len(s.launches) > 0 {
			s.launches[0].Profiles = filepath.Join(s.Profiles, s.sandbox+"-"+row.name)
		}
		begin := time.Now()
		bounded, cancel := context.WithTimeout(ctx, rowTimeout)
		if err := row.measure(bounded, s, &r); err != nil {
			r.Error = err.Error()
		}
		cancel()
		r.Seconds = time.Since(begin).Seconds()
		fmt.Fprintln(s.progress, r.line())
		results = append(results, r)
	}
	return results
}

// rowTimeout bounds one row, whatever hangs in it.
const rowTimeout = 45 * time.Minute

func (s *stage) chosen(row row) bool {
	return s.settings.rows.MatchString(row.name) && (s.Full || !row.full) && (s.Other == "" || row.compare)
}

// line says in a line how a row went.
func (r *result) line() string {
	where := r.Sandbox
	if where == "" {
		where = "machine"
	}
	text := fmt.Sprintf("%-8s %-18s", where, r.Row)
	if r.Error != "" {
		return text + " failed: " + r.Error
	}
	for _, s := range r.Series {
		text += fmt.Sprintf("  %s %s", s.Name, figure(s.P50, r.unitOf(s)))
	}
	for _, c := range r.Checks {
		text += fmt.Sprintf("  [%s %s: %s]", c.What, c.Bar, strings.Trim(c.verdict(), "*"))
	}
	return text + fmt.Sprintf("  (%.0f s)", r.Seconds)
}
