package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
)

// probed counts the probes of a backend, and can be made unavailable.
type probed struct {
	*sandboxtest.Fake
	probes atomic.Int32
	down   atomic.Bool
}

func (p *probed) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	p.probes.Add(1)
	if p.down.Load() {
		return sandbox.Capabilities{}, fmt.Errorf("docker: %w: no engine; start one", sandbox.ErrUnavailable)
	}
	return p.Fake.Probe(ctx)
}

func TestSandboxIsChosenOnceAndOnlyWhenNeeded(t *testing.T) {
	b := &probed{Fake: &sandboxtest.Fake{Label: "docker"}}
	s := newSelection("auto", []sandbox.Backend{b}, slog.New(slog.DiscardHandler))
	if s.Name() != "auto" || b.probes.Load() != 0 {
		t.Fatalf("before the first run: name %q, %d probes", s.Name(), b.probes.Load())
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			instance, err := s.Start(t.Context(), sandbox.Spec{})
			if err != nil {
				t.Error(err)
				return
			}
			instance.Close()
		})
	}
	wg.Wait()
	if s.Name() != "docker" || b.probes.Load() != 1 {
		t.Errorf("after 20 runs: name %q, %d probes", s.Name(), b.probes.Load())
	}
}

func TestSandboxThatComesBackIsUsedWithoutARestart(t *testing.T) {
	b := &probed{Fake: &sandboxtest.Fake{Label: "docker"}}
	b.down.Store(true)
	s := newSelection("docker", []sandbox.Backend{b}, slog.New(slog.DiscardHandler))
	if _, err := s.Start(t.Context(), sandbox.Spec{}); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "start one") {
		t.Fatalf("Start: %v", err)
	}
	b.down.Store(false)
	instance, err := s.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	instance.Close()
}
