package main

import (
	"context"
	"time"

	"github.com/ptc-mcp/ptc-mcp/test/bench/stats"
	"github.com/ptc-mcp/ptc-mcp/test/bench/subject"
)

const startBar = 50 // ms

// startRow: how soon a new server answers.
func startRow(ctx context.Context, s *stage, r *result) error { return s.starts(ctx, r, three) }

// startHangingRow: the same when what is behind it does not answer.
func startHangingRow(ctx context.Context, s *stage, r *result) error {
	return s.starts(ctx, r, subject.Config{Servers: map[string][]string{"t": {}, "u": {}, "hanging": {"-hang-initialize"}}})
}

func (s *stage) starts(ctx context.Context, r *result, c subject.Config) error {
	probes := s.launched(c, func(_ context.Context, _ int, server *subject.Server) (float64, error) {
		return ms(server.Started), nil
	})
	probes = append(probes, floorProbe("a bare MCP server", func(ctx context.Context) (time.Duration, error) { return bareServerStart(ctx, s) }))
	if err := r.take(ctx, s.samples(20), 1, probes...); err != nil {
		return err
	}
	r.most("p50", r.subject().P50, startBar, nil)
	return nil
}

const (
	idleBar = 30              // MB
	idle    = 2 * time.Second // since the last request
)

// idleMemoryRow: what a server holds that has done something and has nothing to
// do.
func idleMemoryRow(ctx context.Context, s *stage, r *result) error {
	before := make([][]float64, len(s.launches))
	err := r.take(ctx, s.samples(5), 0, s.launched(three, func(ctx context.Context, i int, server *subject.Server) (float64, error) {
		if err := pause(idle)(ctx); err != nil {
			return 0, err
		}
		unused, err := subject.Resident(server.PID())
		if err != nil {
			return 0, err
		}
		before[i] = append(before[i], unused)
		if err := server.Ready(ctx, echoOnce); err != nil {
			return 0, err
		}
		if err := pause(idle)(ctx); err != nil {
			return 0, err
		}
		return subject.Resident(server.PID())
	})...)
	if err != nil {
		return err
	}
	for i, l := range s.launches {
		r.note("%s before any run: %s", l.Name, figure(stats.Median(before[i]), r.Unit))
	}
	if s.sandbox != "none" {
		r.most("p50", r.subject().P50, idleBar, nil)
	}
	return nil
}
