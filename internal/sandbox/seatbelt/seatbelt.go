//go:build unix

package seatbelt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ptc-mcp/ptc-mcp/images/runner"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// sandboxExec is macOS's own, by its full path: PATH decides nothing here.
const sandboxExec = "/usr/bin/sandbox-exec"

// backend is the sandbox.Backend of macOS, and an io.Closer.
type backend struct {
	python   string
	logger   *slog.Logger
	launcher string                       // sandboxExec, or what stands in for it in tests
	trial    string                       // program that a first sandbox has to pass
	finder   finder                       // of interpreters
	command  func(python string) []string // argv of the runner
	running  sync.WaitGroup               // sandboxes, and what is done in the background

	// preparing is held by who finds out what this machine offers; what it
	// found is in prepared once that has succeeded.
	preparing chan struct{}
	prepared  atomic.Pointer[machine]
}

// machine is what is the same for every start.
type machine struct {
	python *interpreter
	layout *layout
	memory bool // the memory of a process can be seen
}

// New returns the backend. It looks at nothing before the first Probe or
// Start, and it implements io.Closer: Close waits until every closed sandbox
// is removed.
func New(config Config) sandbox.Backend {
	return newBackend(config)
}

func newBackend(config Config) *backend {
	logger := config.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &backend{
		python: config.Python, logger: logger, launcher: sandboxExec, trial: trial, finder: newFinder(),
		command: runner.Command, preparing: make(chan struct{}, 1),
	}
}

// Name returns "seatbelt".
func (*backend) Name() string { return name }

// Probe finds the interpreter and runs a trial program in a sandbox. Success is
// remembered; failure is not, since a user may mend it meanwhile.
func (b *backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	state, err := b.prepare(ctx)
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	return state.capabilities(), nil
}

// Start boots one sandbox; see sandbox.Backend.
func (b *backend) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Instance, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	state, err := b.prepare(ctx)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("seatbelt: start: %w", err)
	}
	instance, err := b.launch(state, withDefaults(spec), b.command(state.python.executable))
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		_ = instance.Close() // never fails
		instance.discard()
		return nil, fmt.Errorf("seatbelt: start: %w", err)
	}
	return instance, nil
}

// Close waits for the end of every sandbox. No Start may follow.
func (b *backend) Close() error {
	b.running.Wait()
	return nil
}

// prepare finds out, once, how sandboxes are made here.
func (b *backend) prepare(ctx context.Context) (*machine, error) {
	if state := b.prepared.Load(); state != nil {
		return state, nil
	}
	select {
	case b.preparing <- struct{}{}:
		defer func() { <-b.preparing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if state := b.prepared.Load(); state != nil {
		return state, nil
	}
	if err := b.present(); err != nil {
		return nil, err
	}
	sweep(b.logger)
	var state *machine
	_, err := b.finder.find(ctx, b.python, func(python *interpreter) (err error) {
		state, err = b.try(ctx, python)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, sandbox.ErrUnavailable):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("seatbelt: %w: %w", err, sandbox.ErrUnavailable)
	}
	used, err := memoryUsed(os.Getpid())
	state.memory = err == nil && used > 0
	b.logger.Debug("seatbelt sandbox ready", "python", state.python.executable, "version", state.python.version, "memory", state.memory)
	b.prepared.Store(state)
	return state, nil
}

// present says why there is no sandbox-exec here.
func (b *backend) present() error {
	if b.launcher == sandboxExec && runtime.GOOS != "darwin" {
		return fmt.Errorf("seatbelt: needs macOS, this is %s; use docker or native: %w", runtime.GOOS, sandbox.ErrUnavailable)
	}
	if _, err := os.Stat(b.launcher); err != nil {
		return fmt.Errorf("seatbelt: %w, which is a part of macOS; use docker: %w", err, sandbox.ErrUnavailable)
	}
	return nil
}

func (m *machine) capabilities() sandbox.Capabilities {
	is := sandbox.Capabilities{
		Description: fmt.Sprintf("sandbox-exec, Python %s at %s; memory watched from outside, one process", m.python.version, m.python.executable),
		Isolated:    true,
		Memory:      m.memory,
		Warnings: []string{
			"CPU use and threads are not limited, and files in the scratch folder only by looking now and then, because macOS has no such limits; use docker where they matter",
		},
	}
	if !m.memory {
		is.Description = fmt.Sprintf("sandbox-exec, Python %s at %s; one process", m.python.version, m.python.executable)
		is.Warnings = append(is.Warnings, "the memory of a program cannot be seen here and is not limited; use docker where it matters")
	}
	return is
}

var _ sandbox.Backend = (*backend)(nil)
