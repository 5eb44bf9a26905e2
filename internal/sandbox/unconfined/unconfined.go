// Package unconfined runs programs with no sandbox at all: `sandbox: none`.
//
// It owns the interpreter's process, its temporary folder, and ending whatever
// the program started. It isolates nothing and enforces no limit; it says so
// loudly at every start. Ending children is done as well as an ordinary user
// can: a program that means to hide a process from it succeeds.
package unconfined

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/ptc-mcp/ptc-mcp/images/runner"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// Config is what the user decides.
type Config struct {
	// Python is the interpreter, a path or a name on PATH; empty means python3.
	Python string
	// Logger must not be nil.
	Logger *slog.Logger
}

// Backend is a sandbox.Backend and an io.Closer.
type Backend struct {
	config  Config
	command func(python string) []string

	mu          sync.Mutex
	interpreter *interpreter

	running sync.WaitGroup
}

// New returns a backend that has not looked for the interpreter yet.
func New(config Config) *Backend {
	return &Backend{config: config, command: runner.Command}
}

// Name returns "none".
func (b *Backend) Name() string { return sandbox.None }

// Probe finds the interpreter.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	python, err := b.python(ctx)
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	return sandbox.Capabilities{
		Description: fmt.Sprintf("no sandbox, Python %s at %s", python.version, python.path),
		Warnings: []string{
			"Programs run with all your rights: they can read your files, use the network and start other programs. Use `sandbox: auto` unless you trust every program.",
		},
	}, nil
}

// Start runs the interpreter as a process of the same user. The limits of spec
// are checked and not enforced.
func (b *Backend) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Instance, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	python, err := b.python(ctx)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("unconfined: start: %w", err)
	}
	b.config.Logger.Warn("running a program WITHOUT a sandbox (sandbox: none): it has all your rights",
		slog.String("python", python.path))
	return b.launch(python.path)
}

// python returns the interpreter, looked for once.
func (b *Backend) python(ctx context.Context) (*interpreter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.interpreter == nil {
		found, err := findInterpreter(ctx, b.config.Python)
		if err != nil {
			return nil, err
		}
		b.interpreter = found
	}
	return b.interpreter, nil
}

// Close waits until every process of a closed Instance has ended and its
// folder is gone. Instances that run must be closed before.
func (b *Backend) Close() error {
	b.running.Wait()
	return nil
}
