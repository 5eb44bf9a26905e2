package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ptc-mcp/ptc-mcp/test/bench/floor"
	"github.com/ptc-mcp/ptc-mcp/test/bench/stats"
	"github.com/ptc-mcp/ptc-mcp/test/bench/subject"
)

// warmFloor is the floor of a run in a sandbox that waits for it.
const warmFloor = "booted bare Python"

// coldFloor is the floor of a run that has to wait for its sandbox.
const coldFloor = "bare start to first byte"

// printWarmRow: what one small program costs when a sandbox waits for it.
func printWarmRow(ctx context.Context, s *stage, r *result) error {
	all, err := s.serve(ctx, one)
	if err != nil {
		return err
	}
	defer all.close()
	probes := append(s.probes(all, pause(s.settle), timedRun("print(1)")), floorProbe(warmFloor, s.bareRun))
	if err := r.take(ctx, s.samples(100), 2, probes...); err != nil {
		return err
	}
	seen := r.subject()
	switch s.sandbox {
	case "docker":
		r.most("p50", seen.P50, 3, attachedWarm)
		r.most("p99", seen.P99, 15, attachedWarm)
	case "native":
		r.most("p50", seen.P50, 2, pipedWarm)
		r.most("p99", seen.P99, 10, pipedWarm)
	}
	return nil
}

// printColdRow: the same when every program has to wait for its sandbox.
func printColdRow(ctx context.Context, s *stage, r *result) error {
	all, err := s.serve(ctx, subject.Config{Servers: one.Servers, Execution: []string{"pool_size: 0"}})
	if err != nil {
		return err
	}
	defer all.close()
	// Before each sample the one before it is cleared away.
	before := pause(s.settle / 2)
	bare := floorProbe(coldFloor, func(ctx context.Context) (time.Duration, error) {
		return floor.FirstByte(ctx, s.starter, floor.WithAsyncio)
	})
	bare.before = before
	if err := r.take(ctx, s.samples(60), 2, append(s.probes(all, before, timedRun("print(1)")), bare)...); err != nil {
		return err
	}
	switch s.sandbox {
	case "docker":
		r.over("p50", r.subject().P50, r.find(bare.name).P50, 1.2, 0, nil)
	case "native":
		r.most("p50", r.subject().P50, 15, pipedCold)
	}
	return nil
}

// rateRow: how many programs a second one client gets run, one after the other,
// against how many sandboxes a second the machine can make.
func rateRow(ctx context.Context, s *stage, r *result) error {
	all, err := s.serve(ctx, one)
	if err != nil {
		return err
	}
	defer all.close()
	length := 4 * time.Second
	if s.sandbox != "docker" {
		length /= 2
	}
	if s.Quick {
		length /= 4
	}
	before := pause(s.settle)
	probes := s.probes(all, before, func(ctx context.Context, server *subject.Server) (float64, error) {
		return runsASecond(ctx, server, length)
	})
	for _, workers := range []int{1, 2, 4, 8} {
		probes = append(probes, probe{
			name: fmt.Sprintf("bare starts by %d", workers), kind: floorKind, before: before,
			take: func(ctx context.Context) (float64, error) { return floor.Rate(ctx, s.starter, workers, length) },
		})
	}
	if err := r.take(ctx, s.samples(4), 1, probes...); err != nil {
		return err
	}
	var best series
	for _, f := range r.Series {
		if f.Kind == floorKind && f.P50 > best.P50 {
			best = f
		}
	}
	switch s.sandbox {
	case "docker":
		r.share("p50", r.subject().P50, best, 0.9)
	case "native":
		r.least("p50", r.subject().P50, 150, best, jailedRate)
	}
	return nil
}

// runsASecond runs programs back to back: half of the time before counting, so
// that the pool has found its size.
func runsASecond(ctx context.Context, server *subject.Server, length time.Duration) (float64, error) {
	run := timedRun("print(1)")
	for begin := time.Now(); time.Since(begin) < length/2; {
		if _, err := run(ctx, server); err != nil {
			return 0, err
		}
	}
	done := 0
	begin := time.Now()
	for time.Since(begin) < length {
		if _, err := run(ctx, server); err != nil {
			return 0, err
		}
		done++
	}
	return float64(done) / time.Since(begin).Seconds(), nil
}

// elapsed is the time of f in ms.
func elapsed(f func() error) (float64, error) {
	begin := time.Now()
	err := f()
	return ms(time.Since(begin)), err
}

// fairnessRow: many programs at once, each with a call; none may wait much
// longer than the others, and none may be lost or get another's answer.
func fairnessRow(ctx context.Context, s *stage, r *result) error {
	all, err := s.serve(ctx, one)
	if err != nil {
		return err
	}
	defer all.close()
	waits := map[*subject.Server][]float64{}
	probes := s.probes(all, pause(s.settle), func(ctx context.Context, server *subject.Server) (float64, error) {
		each, err := wave(ctx, server, 64)
		if err != nil {
			return 0, err
		}
		waits[server] = append(waits[server], each...)
		sum := stats.Summarize(each)
		return sum.Max / sum.P50, nil
	})
	if err := r.take(ctx, s.samples(5), 1, probes...); err != nil {
		return err
	}
	for i, server := range all {
		sum := stats.Summarize(waits[server])
		r.note("%s: waits of %s to %s, median %s", s.launches[i].Name, figure(sum.Min, "ms"), figure(sum.Max, "ms"), figure(sum.P50, "ms"))
	}
	r.most("worst", r.subject().Max, 3, nil)
	return nil
}

// wave runs programs at once and returns how long each took, in ms.
func wave(ctx context.Context, server *subject.Server, width int) ([]float64, error) {
	type end struct {
		took float64
		err  error
	}
	ends := make(chan end, width)
	for i := range width {
		go func() {
			took, err := elapsed(func() error {
				want := fmt.Sprintf("run %d", i)
				got, err := server.Execute(ctx, fmt.Sprintf("print(await mcp__t__echo(message=%q))", want))
				if err == nil && got != want+"\n" {
					err = fmt.Errorf("run %d printed %.60q", i, got)
				}
				return err
			})
			ends <- end{took, err}
		}()
	}
	var each []float64
	var failed error
	for range width {
		e := <-ends
		if e.err != nil && failed == nil {
			failed = e.err
		}
		each = append(each, e.took)
	}
	return each, failed
}
