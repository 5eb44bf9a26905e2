//go:build linux

package native

import (
	"io"
	"log/slog"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/images/runner"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// newBenchBackend makes one that runs code, or the runner if there is none.
func newBenchBackend(b *testing.B, c code) *backend {
	b.Helper()
	state, err := machineOnce()
	if err != nil {
		b.Fatal(err)
	}
	backend := newBackend("", slog.New(slog.DiscardHandler))
	backend.prepared.Store(state)
	if c.run != "" {
		backend.code = c
	}
	b.Cleanup(func() {
		if err := backend.Close(); err != nil {
			b.Error(err)
		}
	})
	return backend
}

// BenchmarkFirstByte measures the time from Start to the first byte that Python
// writes: forked, cold, with a supervisor in reserve, and without a sandbox, one
// after the other so that all see the same machine. Medians, in milliseconds.
func BenchmarkFirstByte(b *testing.B) {
	load, serve := runner.Stages()
	for name, c := range map[string]code{
		"bare Python":  {run: "print(1, flush=True)"},
		"with asyncio": {load: "import asyncio\n", run: "print(1, flush=True)"},
		"the runner":   {load: load, run: serve},
	} {
		b.Run(name, func(b *testing.B) {
			backend := newBenchBackend(b, c)
			state, spec := backend.prepared.Load(), withDefaults(sandbox.Spec{})
			argv := c.plain(state.python.Executable)
			firstByteInside(b, func() (*instance, error) { return forkedStart(b, backend) }) // boots the zygote
			var forked, cold, reserved, outside []time.Duration
			for b.Loop() {
				forked = append(forked, firstByteInside(b, func() (*instance, error) { return forkedStart(b, backend) }))
				outside = append(outside, firstByteOutside(b, argv))
				cold = append(cold, firstByteInside(b, func() (*instance, error) {
					return backend.launch(b.Context(), state, spec, argv)
				}))
				backend.refill(state)
				reserved = append(reserved, firstByteInside(b, func() (*instance, error) {
					return backend.startFromReserve(b.Context(), state, spec, argv)
				}))
			}
			b.ReportMetric(median(forked), "forked-ms")
			b.ReportMetric(median(cold), "cold-ms")
			b.ReportMetric(median(reserved), "reserved-ms")
			b.ReportMetric(median(outside), "outside-ms")
		})
	}
}

// BenchmarkRuns measures how many sandboxes a second boot, say hello and are
// removed, by one caller and by two; beside it, how many bare interpreters do
// so without a sandbox and without the runner.
func BenchmarkRuns(b *testing.B) {
	backend := newBenchBackend(b, code{})
	argv := []string{backend.prepared.Load().python.Executable, "-I", "-S", "-c", "print(1)"}
	for name, callers := range map[string]int{"one after another": 1, "two at once": 2} {
		b.Run(name, func(b *testing.B) {
			var inside, outside time.Duration
			for b.Loop() {
				inside += inParallel(callers, func() {
					firstByteInside(b, func() (*instance, error) { return forkedStart(b, backend) })
				})
				outside += inParallel(callers, func() { firstByteOutside(b, argv) })
			}
			runs := float64(callers * b.N)
			b.ReportMetric(runs/inside.Seconds(), "runs/s")
			b.ReportMetric(runs/outside.Seconds(), "bare/s")
		})
	}
}

// inParallel returns how long it takes so many callers to do something once.
func inParallel(callers int, do func()) time.Duration {
	began := time.Now()
	var working sync.WaitGroup
	for range callers {
		working.Go(do)
	}
	working.Wait()
	return time.Since(began)
}

func forkedStart(b *testing.B, backend *backend) (*instance, error) {
	b.Helper()
	i, err := backend.Start(b.Context(), sandbox.Spec{})
	if err != nil {
		return nil, err
	}
	if !isForked(i) {
		b.Error("the sandbox was not forked")
	}
	return i.(*instance), nil
}
func firstByteInside(b *testing.B, start func() (*instance, error)) time.Duration {
	began := time.Now()
	i, err := start()
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(i.Channel(), make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	if err := i.Close(); err != nil {
		b.Fatal(err)
	}
	if _, err := i.Wait(); err != nil {
		b.Fatal(err)
	}
	return took
}

func firstByteOutside(b *testing.B, argv []string) time.Duration {
	cmd := exec.CommandContext(b.Context(), argv[0], argv[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return took
}

func median(durations []time.Duration) float64 {
	slices.Sort(durations)
	return float64(durations[len(durations)/2].Microseconds()) / 1000
}
