package floor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// The smallest programs: the least that an interpreter can do, and the least
// that a sandbox for programs needs, since without an event loop no program
// could call a tool.
const (
	Bare        = "print(1, flush=True)"
	WithAsyncio = "import asyncio, json; print(1, flush=True)"
)

// FirstByte is the time from nothing to the first byte of a program's output.
func FirstByte(ctx context.Context, s Starter, code string) (time.Duration, error) {
	begin := time.Now()
	p, err := s.Start(ctx, code)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	var b [1]byte
	_, err = io.ReadFull(p.Stdout, b[:])
	return time.Since(begin), err
}

// WholeLife is the time from nothing until the program has ended by itself and
// is removed.
func WholeLife(ctx context.Context, s Starter, code string) (time.Duration, error) {
	begin := time.Now()
	p, err := s.Start(ctx, code)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, p.Stdout)
	return time.Since(begin), errors.Join(err, p.Close())
}

// Rate is how many programs a second can be started, seen ready and removed, by
// so many workers for so long.
func Rate(ctx context.Context, s Starter, workers int, length time.Duration) (float64, error) {
	var (
		mu   sync.Mutex
		done int
		errs []error
		wg   sync.WaitGroup
	)
	begin := time.Now()
	for range workers {
		wg.Go(func() {
			for time.Since(begin) < length {
				_, err := FirstByte(ctx, s, WithAsyncio)
				mu.Lock()
				done++
				if err != nil {
					errs = append(errs, err)
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if len(errs) > 0 {
		return 0, fmt.Errorf("starts by %d at once: %w", workers, errs[0])
	}
	return float64(done) / time.Since(begin).Seconds(), nil
}
