// Package warmtest holds a pool over a real backend against the contract of
// package sandbox. It is imported by tests only.
package warmtest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/warm"
)

// Run runs the conformance suite through a pool, with nearly every sandbox one
// that was waiting.
func Run(t *testing.T, newBackend sandboxtest.New, opts sandboxtest.Options) {
	var all tally
	sandboxtest.Run(t, func(t *testing.T, program string) sandbox.Backend {
		b := &backend{tally: &all, gated: program != ""}
		if b.gated {
			program = gate + program
		}
		b.Pool = warm.New(&counted{newBackend(t, program), &all}, warm.Config{Size: 1, Logger: slog.New(slog.DiscardHandler)})
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Errorf("close the pool: %v", err)
			}
		})
		return b
	}, opts)
	t.Logf("%d sandboxes had been waiting, %d had not", all.total-all.direct, all.direct)
	if all.total == 0 || all.direct > all.total/2 {
		t.Errorf("only %d of %d sandboxes came from the pool", all.total-all.direct, all.total)
	}
}

// gate has a program of the suite wait as the runner does: it greets, and goes
// on when it is used.
const (
	greeting = "\x00\x00\x00\x02{}"
	gate     = `import os; os.write(1, b"\x00\x00\x00\x02{}"); os.read(0, 1)
`
)

// tally counts the sandboxes of a suite.
type tally struct {
	mu            sync.Mutex
	total, direct int
}

// backend is a pool that is given the time to get ready before each Start.
type backend struct {
	*warm.Pool
	*tally
	gated bool
}

// patience is far more than a boot takes; without a sandbox by then, the Start
// below says why.
const patience = 30 * time.Second

// direct marks the context of a caller: what is booted with it did not wait.
type direct struct{}

func (b *backend) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Instance, error) {
	if ctx.Err() == nil && spec.Validate() == nil {
		b.Prime(spec)
		late := time.Now().Add(patience)
		for tick := time.Tick(time.Millisecond); b.Ready() == 0 && ctx.Err() == nil && time.Now().Before(late); {
			<-tick
		}
	}
	instance, err := b.Pool.Start(context.WithValue(ctx, direct{}, true), spec)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.total++
	b.mu.Unlock()
	if !b.gated {
		return instance, nil
	}
	stop := context.AfterFunc(ctx, func() { _ = instance.Close() })
	got := make([]byte, len(greeting))
	_, err = io.ReadFull(instance.Channel(), got)
	if err == nil && string(got) != greeting {
		err = fmt.Errorf("greeted with %q", got)
	}
	if err == nil {
		_, err = instance.Channel().Write([]byte{'\n'})
	}
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = instance.Close()
		return nil, err
	}
	return instance, nil
}

// counted is the backend below the pool.
type counted struct {
	sandbox.Backend
	*tally
}

func (c *counted) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Instance, error) {
	instance, err := c.Backend.Start(ctx, spec)
	if err == nil && ctx.Value(direct{}) != nil {
		c.mu.Lock()
		c.direct++
		c.mu.Unlock()
	}
	return instance, err
}
