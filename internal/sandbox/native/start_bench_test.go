//go:build linux

package native

import (
	"io"
	"log/slog"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// BenchmarkFirstByte measures the time from Start to the first byte that Python
// writes: cold, with a supervisor in reserve, and without a sandbox, one after
// the other so that all see the same machine. Medians, in milliseconds.
func BenchmarkFirstByte(b *testing.B) {
	for name, program := range map[string]string{
		"bare Python":  "print(1, flush=True)",
		"with asyncio": "import asyncio; print(1, flush=True)",
	} {
		b.Run(name, func(b *testing.B) {
			state, err := machineOnce()
			if err != nil {
				b.Fatal(err)
			}
			backend := newBackend("", slog.New(slog.DiscardHandler))
			backend.prepared.Store(state)
			argv := []string{state.python.Executable, "-I", "-S", "-B", "-c", program}
			var cold, reserved, outside []time.Duration
			for b.Loop() {
				outside = append(outside, firstByteOutside(b, argv))
				cold = append(cold, firstByteInside(b, func() (*instance, error) {
					return backend.launch(b.Context(), state, withDefaults(sandbox.Spec{}), argv)
				}))
				backend.refill(state)
				reserved = append(reserved, firstByteInside(b, func() (*instance, error) {
					return backend.startFromReserve(b.Context(), state, withDefaults(sandbox.Spec{}), argv)
				}))
			}
			if err := backend.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(median(cold), "cold-ms")
			b.ReportMetric(median(reserved), "reserved-ms")
			b.ReportMetric(median(outside), "outside-ms")
		})
	}
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
