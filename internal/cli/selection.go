package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// selection is a Backend that chooses one of its candidates when the first
// sandbox is needed, so that nothing at start waits for an engine. A choice
// that fails is made anew the next time: an engine may have been started since.
type selection struct {
	name       string
	candidates []sandbox.Backend
	logger     *slog.Logger

	turn   chan struct{} // held while choosing
	chosen atomic.Pointer[choice]
}

type choice struct {
	backend      sandbox.Backend
	capabilities sandbox.Capabilities
}

var _ sandbox.Backend = (*selection)(nil)

func newSelection(name string, candidates []sandbox.Backend, logger *slog.Logger) *selection {
	return &selection{name: name, candidates: candidates, logger: logger, turn: make(chan struct{}, 1)}
}

// choose returns the backend in use, choosing it first if need be.
func (s *selection) choose(ctx context.Context) (*choice, error) {
	if c := s.chosen.Load(); c != nil {
		return c, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c := s.chosen.Load(); c != nil {
		return c, nil
	}
	backend, capabilities, reason, err := sandbox.Select(ctx, s.name, s.candidates)
	if err != nil {
		return nil, err
	}
	s.logger.Info("sandbox chosen", "sandbox", backend.Name(), "reason", reason, "description", capabilities.Description)
	c := &choice{backend, capabilities}
	s.chosen.Store(c)
	return c, nil
}

// Name returns the chosen backend's name, or the configured word as long as
// none has been needed.
func (s *selection) Name() string {
	if c := s.chosen.Load(); c != nil {
		return c.backend.Name()
	}
	return s.name
}

func (s *selection) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	c, err := s.choose(ctx)
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	return c.capabilities, nil
}

func (s *selection) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Instance, error) {
	c, err := s.choose(ctx)
	if err != nil {
		return nil, err
	}
	return c.backend.Start(ctx, spec)
}

// Close closes all candidates, at the same time: any may have been tried.
func (s *selection) Close() error {
	errs := make([]error, len(s.candidates))
	var wg sync.WaitGroup
	for i, b := range s.candidates {
		if c, ok := b.(io.Closer); ok {
			wg.Go(func() { errs[i] = c.Close() })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}
