package main

import (
	"context"
	"time"

	"github.com/ptc-mcp/ptc-mcp/test/bench/floor"
	"github.com/ptc-mcp/ptc-mcp/test/bench/stats"
)

// kernelFloors: what no program can be faster than, from C.
func kernelFloors(ctx context.Context, s *stage, r *result) error {
	if s.syscalls == nil {
		r.note("not measured: %v", floor.ErrNoCompiler)
		return nil
	}
	python := []string{s.Python, "-I", "-S", "-B", "-c"}
	for _, p := range []struct {
		name, what string
		n          int
		command    []string
	}{
		{"a byte to another process and back", "pipe", 2000, nil},
		{"fork, end, wait", "fork", 200, nil},
		{"a process in new namespaces with a tmpfs", "namespaces", 60, nil},
		{"fork, exec `echo`", "exec", 100, []string{"echo"}},
		{"fork, exec a bare Python", "exec", 40, append(python, floor.Bare)},
		{"the same with asyncio", "exec", 40, append(python, floor.WithAsyncio)},
	} {
		rounds, err := s.syscalls.Rounds(ctx, p.what, s.samples(p.n), p.command...)
		if err != nil {
			r.note("%s: not measured: %v", p.name, err)
			continue
		}
		r.Series = append(r.Series, series{Name: p.name, Kind: floorKind, Summary: stats.Summarize(rounds)})
	}
	return nil
}

// mcpFloors: what a server over stdio takes, without ptc-mcp.
func mcpFloors(ctx context.Context, s *stage, r *result) error {
	m, err := floor.NewMCP(ctx, s.testServer)
	if err != nil {
		return err
	}
	defer m.Close()
	return r.take(ctx, s.samples(10), 1,
		floorProbe("start to `initialize` answered", func(ctx context.Context) (time.Duration, error) { return bareServerStart(ctx, s) }),
		floorProbe("1000 calls, one after the other", func(ctx context.Context) (time.Duration, error) { return m.Echo(ctx, 1000, 1) }),
		floorProbe("1000 calls, 64 at once", func(ctx context.Context) (time.Duration, error) { return m.Echo(ctx, 1000, 64) }),
		floorProbe("a result of 10 MB", func(ctx context.Context) (time.Duration, error) { return m.Blob(ctx, 10<<20) }),
		floorProbe("a result of 64 MB", func(ctx context.Context) (time.Duration, error) { return m.Blob(ctx, 64<<20) }),
	)
}

func bareServerStart(ctx context.Context, s *stage) (time.Duration, error) {
	m, err := floor.NewMCP(ctx, s.testServer)
	if err != nil {
		return 0, err
	}
	return m.Start, m.Close()
}

// channelFloors: what a bare Python takes in the same kind of place, and the
// streams to it.
func channelFloors(ctx context.Context, s *stage, r *result) error {
	peer, err := floor.NewPeer(ctx, s.starter)
	if err != nil {
		return err
	}
	defer peer.Close()
	start := func(code string) func(context.Context) (time.Duration, error) {
		return func(ctx context.Context) (time.Duration, error) { return floor.FirstByte(ctx, s.starter, code) }
	}
	return r.take(ctx, s.samples(15), 1,
		floorProbe("start to the first byte", start(floor.Bare)),
		floorProbe("the same with asyncio", start(floor.WithAsyncio)),
		floorProbe("its whole life", func(ctx context.Context) (time.Duration, error) {
			return floor.WholeLife(ctx, s.starter, floor.WithAsyncio)
		}),
		floorProbe("program to result, booted", s.bareRun),
		floorProbe("1000 round trips, event loop", func(context.Context) (time.Duration, error) { return peer.Calls(1000, true) }),
		floorProbe("1000 round trips, blocking", func(context.Context) (time.Duration, error) { return peer.Calls(1000, false) }),
		floorProbe("1000 at once", func(context.Context) (time.Duration, error) { return peer.Gather(1000) }),
		floorProbe("10 MB, sent and parsed", func(context.Context) (time.Duration, error) { return peer.Take(10 << 20) }),
	)
}

// bareRun is the time from sending a program to a booted Python, which was
// never used before, until what it printed is here.
func (s *stage) bareRun(ctx context.Context) (time.Duration, error) {
	peer, err := floor.NewPeer(ctx, s.starter)
	if err != nil {
		return 0, err
	}
	defer peer.Close()
	return peer.Run("print(1)")
}
