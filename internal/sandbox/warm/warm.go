// Package warm keeps booted sandboxes of another backend waiting, so that a run
// gets one at once.
//
// It owns how many wait, when they are booted, that each is healthy when it is
// handed out, and that each is used once. It must not know which backend it
// wraps, nor anything of frames beyond where the first one ends.
package warm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// Config is what the user decides.
type Config struct {
	// Size is how many sandboxes wait when demand is ordinary; 0 turns the pool
	// off, so that every Start goes to the inner backend.
	Size int
	// Max is how many may wait when demand is high; less than Size means Size.
	Max int
	// IdleAfter is how long a sandbox beyond Size may go unneeded before it is
	// given up; 0 means one minute.
	IdleAfter time.Duration
	// MaxAge is how old a waiting sandbox may get before a fresh one replaces
	// it, and how long the pool waits for its next use before it gives up all,
	// until that comes; 0 means ten minutes.
	MaxAge time.Duration
	// Logger must not be nil.
	Logger *slog.Logger
}

// Pool is a sandbox.Backend and an io.Closer. It starts nothing before the
// first Start or Prime.
type Pool struct {
	inner  sandbox.Backend
	config Config
	boots  int // most boots under way at once

	life context.Context // ends with Close
	end  context.CancelFunc
	wake chan struct{}  // tells tend that something changed
	work sync.WaitGroup // tend, and one goroutine a spare

	closing sync.Once
	err     error // of Close

	mu sync.Mutex
	stock
}

// closeTimeout bounds how long Close waits for boots under way to end.
const closeTimeout = 10 * time.Second

// New returns a pool over inner, which it owns from now on.
func New(inner sandbox.Backend, config Config) *Pool {
	config.Max = max(config.Max, config.Size)
	config.IdleAfter = cmp.Or(config.IdleAfter, time.Minute)
	config.MaxAge = cmp.Or(config.MaxAge, 10*time.Minute)
	life, end := context.WithCancel(context.Background())
	return &Pool{
		inner: inner, config: config,
		boots: max(1, runtime.GOMAXPROCS(0)/2),
		life:  life, end: end,
		wake: make(chan struct{}, 1),
	}
}

// Name returns the inner backend's name.
func (p *Pool) Name() string { return p.inner.Name() }

// Probe asks the inner backend.
func (p *Pool) Probe(ctx context.Context) (sandbox.Capabilities, error) { return p.inner.Probe(ctx) }

// Prime has the pool boot sandboxes with these limits, in the background,
// because programs may come. It returns at once.
func (p *Pool) Prime(spec sandbox.Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.config.Size > 0 && !p.closed {
		p.use(spec, time.Now())
	}
}

// Ready returns how many sandboxes are waiting, fully booted.
func (p *Pool) Ready() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.countReady()
}

var errClosed = fmt.Errorf("sandbox: the pool is closed: %w", sandbox.ErrUnavailable)

// Start hands out a waiting sandbox, or else one that is being booted, or else
// starts one. Its errors are the inner backend's.
func (p *Pool) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Instance, error) {
	if p.config.Size == 0 {
		return p.inner.Start(ctx, spec)
	}
	if err := cmp.Or(spec.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	s, err := p.take(spec)
	if err != nil {
		return nil, err
	}
	if s != nil && p.await(ctx, s) {
		return p.handOut(s.instance, s.channel, s.output), nil
	}
	instance, err := p.inner.Start(ctx, spec)
	if err != nil {
		p.startFailed()
		return nil, err
	}
	return p.handOut(instance, instance.Channel(), instance.Output()), nil
}

// Close gives up all waiting sandboxes and then closes the inner backend.
// Sandboxes that were handed out remain their owners'. No Start succeeds
// afterwards. It may be called again.
func (p *Pool) Close() error {
	p.closing.Do(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.end()

		done := make(chan struct{})
		go func() {
			p.work.Wait()
			close(done)
		}()
		timeout := time.NewTimer(closeTimeout)
		defer timeout.Stop()
		select {
		case <-done:
		case <-timeout.C:
			p.err = fmt.Errorf("sandbox: a boot did not end within %v", closeTimeout)
		}
		if c, ok := p.inner.(io.Closer); ok {
			p.err = errors.Join(p.err, c.Close())
		}
	})
	return p.err
}

// instance is a sandbox in use.
type instance struct {
	sandbox.Instance
	channel io.ReadWriteCloser
	output  io.Reader
	ended   func()
}

// handOut gives a started sandbox to the Start that take has counted.
func (p *Pool) handOut(i sandbox.Instance, channel io.ReadWriteCloser, output io.Reader) sandbox.Instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	p.running++
	p.failures, p.retryAt = 0, time.Time{}
	return &instance{i, channel, output, sync.OnceFunc(p.runEnded)}
}

func (i *instance) Channel() io.ReadWriteCloser { return i.channel }

func (i *instance) Output() io.Reader { return i.output }

// Close kills the sandbox, and lets the pool fill up again.
func (i *instance) Close() error {
	defer i.ended()
	return i.Instance.Close()
}

var _ sandbox.Backend = (*Pool)(nil)
