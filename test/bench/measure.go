package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/test/clients"
)

const (
	calls = 1000 // of the rows about calls
	width = 64   // calls at once under gather, in ptc-mcp and from Go
	large = 10 << 20
)

// The programs time their own calls, so that the start of the sandbox is not in
// the figure.
const (
	sequential = `
import time
await mcp__t__echo(message="warm-up")
t = time.perf_counter()
for _ in range(1000): await mcp__t__echo(message="hello")
print(time.perf_counter() - t)`
	gathered = `
import asyncio, time
await mcp__t__echo(message="warm-up")
t = time.perf_counter()
await asyncio.gather(*(mcp__t__echo(message="hello") for _ in range(1000)))
print(time.perf_counter() - t)`
	blob = `
import time
await mcp__t__echo(message="warm-up")
t = time.perf_counter()
assert len(await mcp__t__blob(size=%d)) == %d
print(time.perf_counter() - t)`
)

// measure makes the table of one sandbox. Figures and floors are taken in turn,
// so that both see the machine in the same moods.
func measure(ctx context.Context, o options, dir, kind string) (table, error) {
	t := table{Sandbox: kind}
	for _, part := range []func(context.Context, options, string, string) ([]row, error){
		startRows, runRows, callRows, largeRows, catalogueRows,
	} {
		rows, err := part(ctx, o, dir, kind)
		t.Rows = append(t.Rows, rows...)
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// startRows: how soon a new server answers, and what it holds while idle.
func startRows(ctx context.Context, o options, dir, kind string) ([]row, error) {
	var took, resident []float64
	servers := map[string][]string{"a": {"echo"}, "b": {"echo"}, "hanging": {"-hang-initialize", "echo"}}
	for range min(o.runs, 10) {
		begin := time.Now()
		s, err := serve(ctx, o, dir, kind, servers)
		if err != nil {
			return nil, err
		}
		took = append(took, ms(time.Since(begin)))
		if _, err := s.execute(ctx, "print(1)"); err != nil {
			return nil, err
		}
		rss, err := memory(s.Cmd.Process.Pid, "VmRSS:")
		if err != nil {
			return nil, err
		}
		resident = append(resident, rss)
		if err := s.close(); err != nil {
			return nil, err
		}
	}
	return []row{
		{Name: "start to `initialize` answered", Unit: "ms", Value: median(took), P99: slices.Max(took), Note: "one of three servers hangs; p99 is the worst"},
		{Name: "resident memory after a run, 3 servers", Unit: "MB", Value: median(resident)},
	}, nil
}

// runRows: what one small program costs, with a sandbox that waits for it and
// without.
func runRows(ctx context.Context, o options, dir, kind string) ([]row, error) {
	servers := map[string][]string{"t": {"echo"}}
	cold, err := serve(ctx, o, dir, kind, servers, "pool_size: 0")
	if err != nil {
		return nil, err
	}
	defer cold.close() //nolint:errcheck // the figures are in
	warm, err := serve(ctx, o, dir, kind, servers, "pool_size: 1")
	if err != nil {
		return nil, err
	}
	defer warm.close() //nolint:errcheck // the figures are in
	var waiting, starting, floor []float64
	for i := range o.runs + 2 {
		bareTook, err := bareStart(ctx, o, kind)
		if err != nil {
			return nil, err
		}
		// What comes before gives the pool the time to fill.
		coldTook, err := cold.once(ctx)
		if err != nil {
			return nil, err
		}
		warmTook, err := warm.once(ctx)
		if err != nil {
			return nil, err
		}
		if i >= 2 { // the first two warm up
			floor, starting, waiting = append(floor, ms(bareTook)), append(starting, ms(coldTook)), append(waiting, ms(warmTook))
		}
	}
	const batch = 20
	begin := time.Now()
	for range batch {
		if _, err := warm.once(ctx); err != nil {
			return nil, err
		}
	}
	return []row{
		{Name: "`print(1)`, a sandbox waiting", Unit: "ms", Value: median(waiting), P99: percentile(waiting, 99)},
		{Name: "`print(1)`, no pool", Unit: "ms", Value: median(starting), P99: percentile(starting, 99), Floor: median(floor), Note: "floor: bare start to first byte"},
		{Name: "runs back to back", Unit: "a second", Value: batch / time.Since(begin).Seconds(), Floor: 1000 / median(floor), Note: "floor: bare starts, one at a time"},
	}, nil
}

// callRows: what calls cost beyond the server's and the channel's own time.
func callRows(ctx context.Context, o options, dir, kind string) ([]row, error) {
	s, err := serve(ctx, o, dir, kind, map[string][]string{"t": {"echo"}})
	if err != nil {
		return nil, err
	}
	defer s.close() //nolint:errcheck // the figures are in
	direct, err := session(ctx, o, "echo")
	if err != nil {
		return nil, err
	}
	defer direct.Close()

	var inTurn, inTurnFloor, together, togetherFloor []float64
	for range max(3, o.runs/6) {
		server, err := bareCalls(ctx, direct, calls, 1)
		if err != nil {
			return nil, err
		}
		channel, err := bareChannel(ctx, o, kind, sequential, calls+1)
		if err != nil {
			return nil, err
		}
		inTurnFloor = append(inTurnFloor, ms(server+channel))
		took, err := s.timed(ctx, sequential)
		if err != nil {
			return nil, err
		}
		inTurn = append(inTurn, ms(took))

		server, err = bareCalls(ctx, direct, calls, width)
		if err != nil {
			return nil, err
		}
		togetherFloor = append(togetherFloor, ms(server))
		if took, err = s.timed(ctx, gathered); err != nil {
			return nil, err
		}
		together = append(together, ms(took))
	}
	return []row{
		{Name: "1000 calls one after the other", Unit: "ms", Value: median(inTurn), Floor: median(inTurnFloor), Note: "floor: bare calls plus bare channel"},
		{Name: "1000 calls under `gather`", Unit: "ms", Value: median(together), Floor: median(togetherFloor), Note: "floor: the same calls from Go"},
	}, nil
}

// largeRows: what a large result costs in time and in the host's memory.
func largeRows(ctx context.Context, o options, dir, kind string) ([]row, error) {
	s, err := serve(ctx, o, dir, kind, map[string][]string{"t": {"echo"}})
	if err != nil {
		return nil, err
	}
	defer s.close() //nolint:errcheck // the figures are in
	direct, err := session(ctx, o, "echo")
	if err != nil {
		return nil, err
	}
	defer direct.Close()
	var took, floor []float64
	for range max(3, o.runs/6) {
		bareTook, err := bareBlob(ctx, direct, large)
		if err != nil {
			return nil, err
		}
		t, err := s.timed(ctx, fmt.Sprintf(blob, large, large))
		if err != nil {
			return nil, err
		}
		took, floor = append(took, ms(t)), append(floor, ms(bareTook))
	}
	return []row{{Name: "one 10 MB result, parsed", Unit: "ms", Value: median(took), Floor: median(floor), Note: fmt.Sprintf("%.0f ms more than reading it bare", median(took)-median(floor))}}, nil
}

// catalogueRows: what 5,000 tools add to a run.
func catalogueRows(ctx context.Context, o options, dir, kind string) ([]row, error) {
	few, err := serve(ctx, o, dir, kind, map[string][]string{"t": {"echo"}})
	if err != nil {
		return nil, err
	}
	defer few.close() //nolint:errcheck // the figures are in
	many, err := serve(ctx, o, dir, kind, map[string][]string{"t": {"-tools", "5000", "echo"}})
	if err != nil {
		return nil, err
	}
	defer many.close() //nolint:errcheck // the figures are in
	var took, floor []float64
	for range max(5, o.runs/2) {
		for s, figures := range map[*server]*[]float64{few: &floor, many: &took} {
			begin := time.Now()
			if _, err := s.execute(ctx, `await mcp__t__echo(message="x")`); err != nil {
				return nil, err
			}
			*figures = append(*figures, ms(time.Since(begin)))
		}
	}
	return []row{{Name: "one call with 5,000 tools in the catalogue", Unit: "ms", Value: median(took), Floor: median(floor), Note: fmt.Sprintf("%.0f ms more than with ten", median(took)-median(floor))}}, nil
}

// server is one ptc-mcp being measured.
type server struct{ *clients.Client }

// serve starts ptc-mcp with test servers and further keys under execution, and
// returns when initialize has been answered.
func serve(ctx context.Context, o options, dir, kind string, servers map[string][]string, execution ...string) (*server, error) {
	var b strings.Builder
	b.WriteString("servers:\n")
	for name, args := range servers {
		argv, err := json.Marshal(args)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "  - {name: %s, command: %q, args: %s}\n", name, o.server, argv)
	}
	fmt.Fprintf(&b, "execution: {sandbox: %s, max_tool_calls: 100000, max_concurrent_calls: %d, max_tool_result_bytes: 128MiB, max_memory_bytes: 1GiB, trace: \"off\"%s}\n",
		kind, width, strings.Join(append([]string{""}, execution...), ", "))
	if o.image != "" {
		fmt.Fprintf(&b, "docker: {image: %q, pull: never}\n", o.image)
	}
	if o.python != "" {
		fmt.Fprintf(&b, "python: {path: %q}\n", o.python)
	}
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(o.binary, "serve", "--config", path, "--log-level", "error")
	cmd.Stderr = os.Stderr
	c, err := clients.Start(cmd)
	if err != nil {
		return nil, err
	}
	_, err = c.Initialize(ctx)
	return &server{c}, err
}

func (s *server) close() error {
	if err := s.CloseInput(); err != nil {
		return err
	}
	<-s.Exited()
	return s.ExitError()
}

// execute runs a program that must succeed, and returns its output.
func (s *server) execute(ctx context.Context, code string) (string, error) {
	raw, err := s.Request(ctx, "tools/call", map[string]any{"name": "execute_program", "arguments": map[string]any{"code": code}})
	if err != nil {
		return "", err
	}
	var result struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent struct{ Output string }
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return "", err
	}
	if result.IsError {
		return "", errors.New(result.Content[0].Text)
	}
	return result.StructuredContent.Output, nil
}

// once is the time of the smallest program.
func (s *server) once(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	_, err := s.execute(ctx, "print(1)")
	return time.Since(begin), err
}

// timed runs a program that prints the seconds it took.
func (s *server) timed(ctx context.Context, code string) (time.Duration, error) {
	output, err := s.execute(ctx, code)
	if err != nil {
		return 0, err
	}
	return seconds(output)
}

func seconds(output string) (time.Duration, error) {
	s, err := strconv.ParseFloat(strings.TrimSpace(output), 64)
	return time.Duration(s * float64(time.Second)), err
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(v []float64) float64 { return percentile(v, 50) }

func percentile(v []float64, p int) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[min(len(v)-1, len(v)*p/100)]
}

// memory reads a figure of a process from its status, in MB (Linux only).
func memory(pid int, key string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(status), key)
	if !found {
		return 0, fmt.Errorf("no %s in the status of process %d", key, pid)
	}
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	return float64(kb) / 1024, err
}
