// Package docker runs sandboxes as containers of a Docker engine, or of one
// that speaks its API (Podman, Colima, OrbStack).
//
// It owns finding the engine, having the image, every setting that confines a
// container, its streams and its removal, and sweeping what a crashed process
// left behind. It knows nothing of frames, tools or programs: it boots the
// runner and hands out its streams.
package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/ptc-mcp/ptc-mcp/images/runner"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// DefaultImage is used when the configuration names none.
const DefaultImage = "python:3.12-slim"

// The values of Config.Pull.
const (
	PullMissing = "missing" // when the engine does not have the image
	PullNever   = "never"
	PullAlways  = "always" // once per process, for a newer one of the same name
)

// Config is what the user decides.
type Config struct {
	// Host is the engine's URL (unix://, npipe://, tcp://, ssh://). Empty means
	// to look where the docker command would.
	Host string
	// Image is any image with Python 3.9 or newer as python3 on its PATH, by
	// tag or digest; empty means DefaultImage.
	Image string
	// Runtime is an OCI runtime the engine knows, such as runsc; empty means
	// the engine's default.
	Runtime string
	// Pull is PullMissing, PullNever or PullAlways; empty means PullMissing.
	Pull string
	// Progress, if set, is told how a pull goes on, from one goroutine at a
	// time. It must not block.
	Progress func(PullProgress)
	// Logger must not be nil.
	Logger *slog.Logger
}

// Backend is a sandbox.Backend and an io.Closer.
type Backend struct {
	config  Config
	command []string
	env     environment

	mu      sync.Mutex
	current *engine
	closed  bool
	owed    map[string]bool // containers whose removal could not reach the engine
	pulls   pulls

	life       context.Context // ends with Close
	end        context.CancelFunc
	connecting singleflight.Group
	work       background    // what Close waits for
	removals   chan struct{} // one slot a removal under way
}

// maxRemovals bounds the removals under way at once, so that they never take
// the engine away from starts.
const maxRemovals = 4

// New returns a backend that has not looked for an engine yet.
func New(config Config) *Backend {
	if config.Image == "" {
		config.Image = DefaultImage
	}
	if config.Pull == "" {
		config.Pull = PullMissing
	}
	life, end := context.WithCancel(context.Background())
	return &Backend{
		life:     life,
		end:      end,
		config:   config,
		command:  runner.Command("python3"),
		env:      hostEnvironment(),
		owed:     map[string]bool{},
		removals: make(chan struct{}, maxRemovals),
	}
}

// Name returns "docker".
func (b *Backend) Name() string { return "docker" }

// errClosed is the error of a Start after Close.
var errClosed = fmt.Errorf("docker: backend is closed: %w", sandbox.ErrUnavailable)

// Start boots a container. It waits for the image to be pulled if it must; the
// pull goes on when ctx ends.
func (b *Backend) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Instance, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		engine, fresh, err := b.connect(ctx)
		if err != nil {
			return nil, err
		}
		instance, err := b.startOn(ctx, engine, spec)
		if err == nil {
			return instance, nil
		}
		// The engine may have been restarted since it was last used.
		if again || fresh || !errors.Is(err, errLost) || ctx.Err() != nil {
			return nil, err
		}
	}
}

// startOn boots a container on one engine. The work happens in a goroutine of
// its own, so that neither a cancelled context nor a hanging engine holds the
// caller up, and whatever was made by then is removed when its step is over.
func (b *Backend) startOn(ctx context.Context, e *engine, spec sandbox.Spec) (sandbox.Instance, error) {
	done := e.pending() //nolint:contextcheck // one watch serves many starts
	defer done()

	type result struct {
		instance *instance
		err      error
	}
	results := make(chan result)
	abandoned := make(chan struct{})
	detached := context.WithoutCancel(ctx)
	started := b.unlessClosed(func() {
		instance, err := b.boot(detached, abandoned, e, spec)
		select {
		case results <- result{instance, err}:
		case <-abandoned:
			if instance != nil {
				instance.shut(func(remove func()) { remove() }) //nolint:contextcheck // a removal has its own time
			}
		}
	})
	if !started {
		return nil, errClosed
	}
	select {
	case r := <-results:
		if r.err != nil {
			return nil, r.err
		}
		return r.instance, nil
	case <-ctx.Done():
		close(abandoned)
		if status := b.pulls.status(); status != "" {
			return nil, fmt.Errorf("docker: image %s is still being pulled (%s); try again when it is there: %w", b.config.Image, status, ctx.Err())
		}
		return nil, fmt.Errorf("docker: start: %w", ctx.Err())
	case <-e.down:
		close(abandoned)
		return nil, e.downError()
	}
}

// unlessClosed runs f in the background, or reports false once the backend is
// closed.
func (b *Backend) unlessClosed(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.work.run(f)
	return true
}

// closeTimeout bounds Close: what an engine has not removed by then is swept
// at the next start.
const closeTimeout = 10 * time.Second

// Close waits, for at most ten seconds, until every container whose Instance
// was closed is gone. No Start succeeds afterwards. It may be called again.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	engine := b.current
	b.mu.Unlock()
	b.end()

	timeout := time.NewTimer(closeTimeout)
	defer timeout.Stop()
	select {
	case <-b.work.idle():
	case <-timeout.C:
		return fmt.Errorf("docker: containers are not removed after %v; the next start sweeps them", closeTimeout)
	}
	if engine != nil {
		return engine.client.Close()
	}
	return nil
}
