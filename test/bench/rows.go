package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ptc-mcp/ptc-mcp/test/bench/subject"
)

// row is one thing to be measured. Names do not change: figures of different
// days are compared by them.
type row struct {
	name, title string
	unit        string // of its samples
	full        bool   // too long for every day
	compare     bool   // makes sense for another server with execute_program
	measure     func(context.Context, *stage, *result) error
}

// machineRows are measured once, sandboxRows in each sandbox.
var (
	machineRows = []row{
		{name: "floors-kernel", title: "the kernel's own part", unit: "ms", measure: kernelFloors},
		{name: "floors-mcp", title: "a bare MCP server", unit: "ms", measure: mcpFloors},
	}
	sandboxRows = []row{
		{name: "floors-channel", title: "bare Python, and its streams", unit: "ms", measure: channelFloors},
		{name: "start", title: "start to `initialize` answered, 3 servers", unit: "ms", compare: true, measure: startRow},
		{name: "start-hanging", title: "start to `initialize` answered, one of 3 servers hangs", unit: "ms", measure: startHangingRow},
		{name: "idle-memory", title: "idle memory of the server, 3 servers, after a run", unit: "MB", compare: true, measure: idleMemoryRow},
		{name: "print-warm", title: "`print(1)`, pool warm", unit: "ms", compare: true, measure: printWarmRow},
		{name: "print-cold", title: "`print(1)`, pool exhausted", unit: "ms", measure: printColdRow},
		{name: "calls-sequential", title: "1000 calls, one after the other", unit: "ms", compare: true, measure: sequentialRow},
		{name: "calls-gather", title: "1000 calls under `gather`", unit: "ms", compare: true, measure: gatherRow},
		{name: "result-10MB", title: "one 10 MB result, parsed and used", unit: "ms", compare: true, measure: resultRow},
		{name: "result-64MB-memory", title: "one 64 MB result: the server's memory beyond what arrived", unit: "MB", compare: true, measure: resultMemoryRow},
		{name: "rate", title: "back-to-back runs", unit: "a second", compare: true, measure: rateRow},
		{name: "tools-run", title: "a run with 5,000 tools in the catalogue", unit: "ms", compare: true, measure: toolsRunRow},
		{name: "tools-search", title: "a search among 5,000 tools", unit: "ms", measure: toolsSearchRow},
		{name: "clients-64", title: "64 runs at once: the longest wait against the median", unit: "×", compare: true, measure: fairnessRow},
		{name: "allocations", title: "what the server allocates", unit: "kB", measure: allocationsRow},
		{name: "growth-calls", title: "calls one after the other", unit: "ms", measure: growthCallsRow},
		{name: "growth-gather", title: "calls under `gather`", unit: "ms", measure: growthGatherRow},
		{name: "growth-bytes", title: "one result", unit: "ms", measure: growthBytesRow},
		{name: "growth-tools", title: "a run with tools in the catalogue", unit: "ms", measure: growthToolsRow},
		{name: "growth-parallel", title: "runs at once", unit: "ms", measure: growthParallelRow},
		{name: "growth-runs", title: "a run after so many others", unit: "ms", measure: growthRunsRow},
	}
)

// Servers behind the measured one.
var (
	one   = subject.Config{Servers: map[string][]string{"t": {}}}
	three = subject.Config{Servers: map[string][]string{"t": {}, "u": {}, "v": {}}}
)

const echoOnce = `await mcp__t__echo(message="x")`

// samples is how many to take where count is good: fewer in a hurry.
func (s *stage) samples(count int) int {
	if s.Quick {
		return min(count, 3)
	}
	return count
}

// upTo are the steps that a growth goes through: all of them with -full.
func (s *stage) upTo(steps ...int) []int {
	switch {
	case s.Full:
		return steps
	case s.Quick:
		return steps[:2]
	}
	return steps[:len(steps)-1]
}

// servers are the measured ones of a row, ready for programs.
type servers []*subject.Server

// serve starts one server a launch.
func (s *stage) serve(ctx context.Context, c subject.Config) (started servers, err error) {
	defer func() {
		if err != nil {
			started.close()
			started = nil
		}
	}()
	for _, l := range s.launches {
		server, err := l.Start(ctx, c)
		if err != nil {
			return started, err
		}
		started = append(started, server)
		ready := "print(1)"
		if _, has := c.Servers["t"]; has {
			ready = echoOnce
		}
		if err := server.Ready(ctx, ready); err != nil {
			return started, fmt.Errorf("%s: %w", l.Name, err)
		}
	}
	return started, nil
}

func (all servers) close() {
	for _, server := range all {
		_ = server.Close() // what was measured stands
	}
}

// probes makes a probe of each server.
func (s *stage) probes(all servers, before func(context.Context) error, take func(context.Context, *subject.Server) (float64, error)) []probe {
	var out []probe
	for i, server := range all {
		p := probe{name: s.launches[i].Name, kind: subjectKind, before: before, server: server}
		if i > 0 {
			p.kind = otherKind
		}
		p.take = func(ctx context.Context) (float64, error) { return take(ctx, server) }
		out = append(out, p)
	}
	return out
}

// launched makes a probe of each kind of server that starts a new one for every
// sample; take is given the number of its kind.
func (s *stage) launched(c subject.Config, take func(ctx context.Context, i int, server *subject.Server) (float64, error)) []probe {
	var out []probe
	for i, l := range s.launches {
		p := probe{name: l.Name, kind: subjectKind}
		if i > 0 {
			p.kind = otherKind
		}
		p.take = func(ctx context.Context) (float64, error) {
			server, err := l.Start(ctx, c)
			if err != nil {
				return 0, err
			}
			v, err := take(ctx, i, server)
			return v, errors.Join(err, server.Close())
		}
		out = append(out, p)
	}
	return out
}

// timedRun is a probe's take: the ms from a request for a program to its result.
func timedRun(code string) func(context.Context, *subject.Server) (float64, error) {
	return func(ctx context.Context, server *subject.Server) (float64, error) {
		return elapsed(func() error {
			_, err := server.Execute(ctx, code)
			return err
		})
	}
}

// inside is a probe's take: the ms that a program says it took.
func inside(code string) func(context.Context, *subject.Server) (float64, error) {
	return func(ctx context.Context, server *subject.Server) (float64, error) {
		s, err := server.Seconds(ctx, code)
		return 1000 * s, err
	}
}

// errNoSamples is for rows that took none, so that nothing is judged by zeros.
var errNoSamples = errors.New("no samples")

// take interleaves the probes and keeps the series. It is an error when ptc-mcp
// has no samples.
func (r *result) take(ctx context.Context, n, warmUp int, probes ...probe) error {
	taken, err := interleave(ctx, n, warmUp, probes...)
	r.Series = append(r.Series, taken...)
	if err == nil && r.subject() != nil && r.subject().N == 0 {
		err = errNoSamples
	}
	return err
}

// unitOf is what a series is in.
func (r *result) unitOf(s series) string {
	if s.Unit != "" {
		return s.Unit
	}
	return r.Unit
}
