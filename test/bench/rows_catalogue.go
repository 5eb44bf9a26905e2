package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ptc-mcp/ptc-mcp/test/bench/subject"
)

const (
	manyTools  = 5000
	toolsBar   = 5  // ms that they add to a run
	searchBar  = 50 // ms that they add to a search
	fewToolsIs = "with few tools"
)

// withTools is a configuration with so many generated tools beside the others.
func withTools(n int) subject.Config {
	return subject.Config{Servers: map[string][]string{"t": {"-tools", strconv.Itoa(n)}}}
}

// toolsRunRow: what a large catalogue adds to a run.
func toolsRunRow(ctx context.Context, s *stage, r *result) error {
	few, err := s.serve(ctx, one)
	if err != nil {
		return err
	}
	defer few.close()
	many, err := s.serve(ctx, withTools(manyTools))
	if err != nil {
		return err
	}
	defer many.close()
	before := pause(s.settle)
	return besideFewTools(ctx, s, r, s.probes(many, before, timedRun(echoOnce)), s.probes(few, before, timedRun(echoOnce)), toolsBar)
}

// toolsSearchRow: what a search in a large catalogue takes.
func toolsSearchRow(ctx context.Context, s *stage, r *result) error {
	few, err := s.serve(ctx, one)
	if err != nil {
		return err
	}
	defer few.close()
	many, err := s.serve(ctx, withTools(manyTools))
	if err != nil {
		return err
	}
	defer many.close()
	const search = "search_tools"
	offered, err := many[0].Offers(ctx, search)
	if err != nil {
		return err
	}
	if !offered {
		r.note("not measured: the server has no %s", search)
		return nil
	}
	query := func(ctx context.Context, server *subject.Server) (float64, error) {
		return elapsed(func() error {
			_, err := server.Call(ctx, search, map[string]any{"query": "create an item in the list"})
			return err
		})
	}
	return besideFewTools(ctx, s, r, s.probes(many, nil, query), s.probes(few, nil, query), searchBar)
}

// besideFewTools takes the same of a large catalogue and of a small one, which
// is the floor: the large one may add so many milliseconds.
func besideFewTools(ctx context.Context, s *stage, r *result, many, few []probe, bar float64) error {
	for _, p := range few {
		p.name, p.kind = p.name+" "+fewToolsIs, floorKind
		many = append(many, p)
	}
	if err := r.take(ctx, s.samples(40), 2, many...); err != nil {
		return err
	}
	if s.sandbox != "none" {
		r.over("p50", r.subject().P50, r.find(s.launches[0].Name+" "+fewToolsIs).P50, 1, bar, nil)
	}
	return nil
}

// allocationsRow: what the server allocates for a run, a call and a byte, by
// the runtime's own counters.
func allocationsRow(ctx context.Context, s *stage, r *result) error {
	server, counters, err := s.launches[0].StartProfiled(ctx, one)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.Ready(ctx, echoOnce); err != nil {
		return err
	}
	const size = 10 << 20
	for _, p := range []struct {
		of, code string
		rounds   int
		per      float64
	}{
		{"a run", "print(1)", 20, 20},
		{"a call", sequential(calls), 2, 2 * calls},
		{"a call under gather", gathered(calls), 2, 2 * calls},
		{"10 MB of result", blob(size), 4, 4},
	} {
		before, err := counters(ctx)
		if err != nil {
			return err
		}
		for range p.rounds {
			if err := pause(s.settle)(ctx); err != nil {
				return err
			}
			if _, err := server.Execute(ctx, p.code); err != nil {
				return fmt.Errorf("%s: %w", p.of, err)
			}
		}
		after, err := counters(ctx)
		if err != nil {
			return err
		}
		kb := float64(after.Bytes-before.Bytes) / p.per / 1024
		objects := float64(after.Objects-before.Objects) / p.per
		r.Series = append(r.Series, single(p.of, "kB", kb), single(p.of, "objects", objects))
	}
	return nil
}

// single is a series of one figure.
func single(name, unit string, v float64) series {
	s := series{Name: name, Kind: subjectKind, Unit: unit}
	s.N, s.Min, s.P50, s.P90, s.P99, s.Max, s.Mean = 1, v, v, v, v, v, v
	return s
}
