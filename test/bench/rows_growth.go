package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ptc-mcp/ptc-mcp/test/bench/stats"
	"github.com/ptc-mcp/ptc-mcp/test/bench/subject"
)

// straightBar is how far above its line a point may be.
const straightBar = 0.3

// grow measures each step again and again, in turn, and fits a line to the
// medians of those from a step on.
func (r *result) grow(ctx context.Context, of string, steps []int, rounds, lineFrom int, take func(ctx context.Context, step int) (float64, error)) error {
	samples := make([][]float64, len(steps))
	var failed error
rounds:
	for round := range rounds + 1 {
		for i, step := range steps {
			// Short ones are taken again: one delay would be most of them.
			begin := time.Now()
			for again := 0; again == 0 || again < 5 && time.Since(begin) < 200*time.Millisecond; again++ {
				v, err := take(ctx, step)
				if err != nil {
					failed = fmt.Errorf("%s %s: %w", count(float64(step)), of, err)
					break rounds
				}
				if round > 0 { // the first one warms up
					samples[i] = append(samples[i], v)
				}
			}
		}
	}
	r.Growth = &growth{Of: of}
	var fitted []growthPoint
	for i, step := range steps {
		if len(samples[i]) == 0 {
			continue
		}
		p := growthPoint{X: float64(step), Summary: stats.Summarize(samples[i])}
		r.Growth.Points = append(r.Growth.Points, p)
		if step >= lineFrom {
			fitted = append(fitted, p)
		}
	}
	if failed == nil {
		r.straight(fitted, straightBar)
	}
	return failed
}

// programs makes a row of programs of growing length, in one server.
func (s *stage) programs(ctx context.Context, r *result, of string, rounds int, code func(step int) string, steps ...int) error {
	all, err := s.serve(ctx, one)
	if err != nil {
		return err
	}
	defer all.close()
	return r.grow(ctx, of, steps, s.samples(rounds), 0, func(ctx context.Context, step int) (float64, error) {
		return inside(code(step))(ctx, all[0])
	})
}

func growthCallsRow(ctx context.Context, s *stage, r *result) error {
	return s.programs(ctx, r, "calls", 3, sequential, s.upTo(10, 100, 1000, 10_000, 100_000)...)
}

func growthGatherRow(ctx context.Context, s *stage, r *result) error {
	return s.programs(ctx, r, "calls", 3, gathered, s.upTo(10, 100, 1000, 10_000, 100_000)...)
}

func growthBytesRow(ctx context.Context, s *stage, r *result) error {
	return s.programs(ctx, r, "bytes", 5, blob, s.upTo(1<<10, 16<<10, 256<<10, 1<<20, 4<<20, 16<<20, 64<<20)...)
}

// growthToolsRow: a run with a waiting sandbox, by the tools in the catalogue.
func growthToolsRow(ctx context.Context, s *stage, r *result) error {
	steps := s.upTo(10, 100, 500, 1000, 2000, 5000)
	behind := map[int]*subject.Server{}
	for _, n := range steps {
		all, err := s.serve(ctx, withTools(n))
		if err != nil {
			return err
		}
		defer all.close()
		behind[n] = all[0]
	}
	before := pause(s.settle)
	return r.grow(ctx, "tools", steps, s.samples(15), 0, func(ctx context.Context, step int) (float64, error) {
		if err := before(ctx); err != nil {
			return 0, err
		}
		return timedRun(echoOnce)(ctx, behind[step])
	})
}

// growthParallelRow: the time until the last of some programs that came at once
// has ended. The line begins beyond what a pool holds ready.
func growthParallelRow(ctx context.Context, s *stage, r *result) error {
	const beyondPool = 8
	all, err := s.serve(ctx, one)
	if err != nil {
		return err
	}
	defer all.close()
	before := pause(2 * s.settle)
	err = r.grow(ctx, "runs at once", s.upTo(1, 2, 4, 8, 16, 32, 64), s.samples(5), beyondPool, func(ctx context.Context, step int) (float64, error) {
		if err := before(ctx); err != nil {
			return 0, err
		}
		return elapsed(func() error {
			_, err := wave(ctx, all[0], step)
			return err
		})
	})
	if peak, peakErr := subject.Peak(all[0].PID()); peakErr == nil {
		r.note("the server held %s at most", figure(peak, "MB"))
	}
	return err
}

const (
	window     = 10   // runs behind each point
	slowerBar  = 1.25 // × the first point
	growthMBar = 8.0  // MB more than at the first point
)

// growthRunsRow: whether later runs are as fast and as small as early ones.
func growthRunsRow(ctx context.Context, s *stage, r *result) error {
	all, err := s.serve(ctx, one)
	if err != nil {
		return err
	}
	defer all.close()
	server := all[0]
	run := timedRun(echoOnce)
	var resident []float64
	done := 0
	r.Growth = &growth{Of: "earlier runs"}
	for _, at := range s.upTo(10, 100, 1000, 10_000) {
		for ; done < at; done++ {
			if _, err := run(ctx, server); err != nil {
				return fmt.Errorf("run %d: %w", done, err)
			}
		}
		var each []float64
		for range 2 * window {
			if err := pause(s.settle)(ctx); err != nil {
				return err
			}
			took, err := run(ctx, server)
			if err != nil {
				return err
			}
			each = append(each, took)
		}
		rss, err := subject.Resident(server.PID())
		if err != nil {
			return err
		}
		resident = append(resident, rss)
		r.Growth.Points = append(r.Growth.Points, growthPoint{X: float64(at), Summary: stats.Summarize(each)})
		r.note("after %s runs: %s", count(float64(at)), figure(rss, "MB"))
	}
	first, last := r.Growth.Points[0], r.Growth.Points[len(r.Growth.Points)-1]
	r.over("the last against the first", last.P50, first.P50, slowerBar, 0, nil)
	r.over("memory, the last against the first", resident[len(resident)-1], resident[0], 1, growthMBar, nil)
	r.Checks[len(r.Checks)-1].Bar = fmt.Sprintf("≤ first + %.0f MB", growthMBar)
	r.Checks[len(r.Checks)-1].Seen = fmt.Sprintf("first %+.1f MB", resident[len(resident)-1]-resident[0])
	return nil
}
