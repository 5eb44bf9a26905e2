package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ptc-mcp/ptc-mcp/test/bench/stats"
	"github.com/ptc-mcp/ptc-mcp/test/bench/subject"
)

// probe is one thing to be measured again and again.
type probe struct {
	name string
	kind kind
	unit string // if not the row's
	// before, if set, is waited for before each sample, and is in none.
	before func(ctx context.Context) error
	take   func(ctx context.Context) (float64, error)
	// server, if set, is what uses processor time and memory for it.
	server *subject.Server
}

// floorProbe measures a floor in ms.
func floorProbe(name string, take func(ctx context.Context) (time.Duration, error)) probe {
	return probe{name: name, kind: floorKind, take: func(ctx context.Context) (float64, error) {
		d, err := take(ctx)
		return ms(d), err
	}}
}

// interleave takes n samples of each probe in turn, after some that do not
// count, so that all see the machine in the same moods, and returns a series
// for each. When one fails it returns what there is by then.
func interleave(ctx context.Context, n, warmUp int, probes ...probe) ([]series, error) {
	samples := make([][]float64, len(probes))
	cpu := make([]subject.Usage, len(probes))
	finish := func(err error) ([]series, error) {
		out := make([]series, 0, len(probes))
		for i, p := range probes {
			s := series{Name: p.name, Kind: p.kind, Unit: p.unit, Summary: stats.Summarize(samples[i])}
			if p.server != nil && s.N > 0 {
				s.CPU, s.OwnCPU = ms(cpu[i].CPU)/float64(s.N), ms(cpu[i].Own)/float64(s.N)
				s.PeakMB, _ = subject.Peak(p.server.PID()) // a figure beside the measured one
			}
			out = append(out, s)
		}
		return out, err
	}
	used := make([]subject.Usage, len(probes))
	for round := range warmUp + n {
		if round == warmUp {
			for i, p := range probes {
				if p.server != nil {
					used[i], _ = p.server.Usage() // likewise
				}
			}
		}
		for i, p := range probes {
			if p.before != nil {
				if err := p.before(ctx); err != nil {
					return finish(fmt.Errorf("%s: %w", p.name, err))
				}
			}
			v, err := p.take(ctx)
			if err != nil {
				return finish(fmt.Errorf("%s: %w", p.name, err))
			}
			if round >= warmUp {
				samples[i] = append(samples[i], v)
			}
		}
	}
	for i, p := range probes {
		if p.server == nil {
			continue
		}
		if now, err := p.server.Usage(); err == nil {
			cpu[i] = subject.Usage{CPU: now.CPU - used[i].CPU, Own: now.Own - used[i].Own}
		}
	}
	return finish(nil)
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// pause is a probe's before: it gives the machine a while, to fill pools and to
// remove what was used.
func pause(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
