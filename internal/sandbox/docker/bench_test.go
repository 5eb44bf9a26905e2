package docker_test

import (
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// BenchmarkStart measures a container of the runner from Start to its hello
// frame, and how long Close holds its caller up.
func BenchmarkStart(b *testing.B) {
	backend := newBackend(b, nil)
	var started, hello, closed []time.Duration
	for b.Loop() {
		began := time.Now()
		instance, err := backend.Start(b.Context(), sandbox.Spec{})
		if err != nil {
			b.Fatal(err)
		}
		started = append(started, time.Since(began))
		if _, err := io.ReadFull(instance.Channel(), make([]byte, 5)); err != nil {
			b.Fatal(err)
		}
		hello = append(hello, time.Since(began))
		began = time.Now()
		if err := instance.Close(); err != nil {
			b.Fatal(err)
		}
		closed = append(closed, time.Since(began))
		if _, err := instance.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(milliseconds(started), "ms/start")
	b.ReportMetric(milliseconds(hello), "ms/hello")
	b.ReportMetric(milliseconds(closed), "ms/close")
}

// BenchmarkParallelStarts measures whole lives of containers, eight at a time.
func BenchmarkParallelStarts(b *testing.B) {
	backend := newBackend(b, nil)
	next := make(chan struct{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range next {
				instance, err := backend.Start(b.Context(), sandbox.Spec{})
				if err != nil {
					b.Error(err)
					continue
				}
				if _, err := io.ReadFull(instance.Channel(), make([]byte, 5)); err != nil {
					b.Error(err)
				}
				if err := instance.Close(); err != nil {
					b.Error(err)
				}
				if _, err := instance.Wait(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for b.Loop() {
		next <- struct{}{}
	}
	close(next)
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "starts/s")
}

// milliseconds is the median.
func milliseconds(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2].Microseconds()) / 1000
}
