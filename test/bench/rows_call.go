package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ptc-mcp/ptc-mcp/test/bench/floor"
	"github.com/ptc-mcp/ptc-mcp/test/bench/stats"
	"github.com/ptc-mcp/ptc-mcp/test/bench/subject"
)

// The programs time their own calls, so that the start of the sandbox is not in
// the figure.

func sequential(calls int) string {
	return fmt.Sprintf(`
import time
await mcp__t__echo(message="warm-up")
t = time.perf_counter()
for _ in range(%d): await mcp__t__echo(message="hello")
print(time.perf_counter() - t)`, calls)
}

func gathered(calls int) string {
	return fmt.Sprintf(`
import asyncio, time
await mcp__t__echo(message="warm-up")
t = time.perf_counter()
await asyncio.gather(*(mcp__t__echo(message="hello") for _ in range(%d)))
print(time.perf_counter() - t)`, calls)
}

func blob(size int) string {
	return fmt.Sprintf(`
import time
await mcp__t__echo(message="warm-up")
t = time.perf_counter()
x = await mcp__t__blob(size=%d)
assert len(x) == %d and x[-1] == "x"
print(time.perf_counter() - t)`, size, size)
}

const calls = 1000

// Floors at the other end of a channel.
const (
	channelFloor = "bare channel"
	takeFloor    = "bare channel, parsed"
)

// parts are the servers of a row, and the bare parts of what they do: the same
// MCP server without anything before it, and a bare Python at the other end of
// a channel.
type parts struct {
	servers
	mcp  *floor.MCP
	peer *floor.Peer
}

func (s *stage) parts(ctx context.Context) (p *parts, err error) {
	p = &parts{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.servers, err = s.serve(ctx, one); err != nil {
		return p, err
	}
	if p.mcp, err = floor.NewMCP(ctx, s.testServer); err != nil {
		return p, err
	}
	p.peer, err = floor.NewPeer(ctx, s.starter)
	return p, err
}

// close ends all parts; what was measured stands.
func (p *parts) close() {
	p.servers.close()
	if p.mcp != nil {
		_ = p.mcp.Close()
	}
	if p.peer != nil {
		_ = p.peer.Close()
	}
}

// sequentialRow: what a call costs beyond the server's and the channel's part.
func sequentialRow(ctx context.Context, s *stage, r *result) error {
	p, err := s.parts(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	server := floorProbe("bare server", func(ctx context.Context) (time.Duration, error) { return p.mcp.Echo(ctx, calls, 1) })
	channel := floorProbe(channelFloor, func(context.Context) (time.Duration, error) { return p.peer.Calls(calls, true) })
	probes := append(s.probes(p.servers, nil, inside(sequential(calls))), server, channel)
	if err := r.take(ctx, s.samples(20), 1, probes...); err != nil {
		return err
	}
	sum := r.find(server.name).P50 + r.find(channel.name).P50
	r.note("the floor is the sum of both: %s", figure(sum, r.Unit))
	if s.sandbox != "none" {
		r.over("p50", r.subject().P50, sum, 1.25, 0, nil)
	}
	return nil
}

// gatherRow: calls at once, against the same from Go.
func gatherRow(ctx context.Context, s *stage, r *result) error {
	p, err := s.parts(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	server := floorProbe("the same from Go", func(ctx context.Context) (time.Duration, error) { return p.mcp.Echo(ctx, calls, subject.Width) })
	channel := floorProbe(channelFloor, func(context.Context) (time.Duration, error) { return p.peer.Gather(calls) })
	probes := append(s.probes(p.servers, nil, inside(gathered(calls))), server, channel)
	if err := r.take(ctx, s.samples(20), 1, probes...); err != nil {
		return err
	}
	switch s.sandbox {
	case "docker":
		r.over("p50", r.subject().P50, r.find(server.name).P50, 1.3, 15, attachedGather)
	case "native":
		r.over("p50", r.subject().P50, r.find(server.name).P50, 1.3, 10, pipedGather)
	}
	return nil
}

// resultRow: what a large result costs.
func resultRow(ctx context.Context, s *stage, r *result) error {
	const size = 10 << 20
	p, err := s.parts(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	server := floorProbe("bare read", func(ctx context.Context) (time.Duration, error) { return p.mcp.Blob(ctx, size) })
	channel := floorProbe(takeFloor, func(context.Context) (time.Duration, error) { return p.peer.Take(size) })
	probes := append(s.probes(p.servers, nil, inside(blob(size))), server, channel)
	if err := r.take(ctx, s.samples(20), 1, probes...); err != nil {
		return err
	}
	switch s.sandbox {
	case "docker":
		r.over("p50", r.subject().P50, r.find(server.name).P50, 1, 60, attachedTake)
	case "native":
		r.over("p50", r.subject().P50, r.find(server.name).P50, 1, 45, pipedTake)
	}
	return nil
}

// resultMemoryRow: what a new server holds of a large result at most, beyond the
// bytes that arrived. Resident memory, so garbage counts too; but not the code.
func resultMemoryRow(ctx context.Context, s *stage, r *result) error {
	const size = 64 << 20
	times := make([][]float64, len(s.launches))
	err := r.take(ctx, s.samples(5), 0, s.launched(one, func(ctx context.Context, i int, server *subject.Server) (float64, error) {
		if err := server.Ready(ctx, echoOnce); err != nil {
			return 0, err
		}
		before, err := subject.Resident(server.PID())
		if err != nil {
			return 0, err
		}
		filesBefore, err := subject.OfFiles(server.PID())
		if err != nil {
			return 0, err
		}
		took, err := inside(blob(size))(ctx, server)
		if err != nil {
			return 0, err
		}
		times[i] = append(times[i], took)
		peak, err := subject.Peak(server.PID())
		if err != nil {
			return 0, err
		}
		files, err := subject.OfFiles(server.PID())
		return (peak - files) - (before - filesBefore) - size>>20, err
	})...)
	if err != nil {
		return err
	}
	for i, l := range s.launches {
		r.note("%s: %s each", l.Name, figure(stats.Median(times[i]), "ms"))
	}
	if s.sandbox != "none" {
		r.most("worst", r.subject().Max, size>>20, nil)
	}
	return nil
}
