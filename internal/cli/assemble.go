package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/imports"
	"github.com/ptc-mcp/ptc-mcp/internal/registry"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/native"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/seatbelt"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/unconfined"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/warm"
)

// closeTimeout bounds how long an ending process waits for its servers and
// sandboxes to be gone.
const closeTimeout = 15 * time.Second

// app is everything a command works with. Making one starts nothing.
type app struct {
	config    *config.Config // with the servers that are imported at the start
	logger    *slog.Logger
	imports   *importing // nil where nothing is imported
	sessions  *sessions
	signIns   *signIns
	registry  *registry.Registry
	backends  []sandbox.Backend
	selection *selection
	sandboxes io.Closer // the selection, or what was put before it
	executor  *executor.Executor
	// asks is what the client can ask its user; nil without a client.
	asks func() (form, url bool)
}

// elicitation is what servers are told that they may ask.
func (a *app) elicitation() (form, url bool) {
	if a.asks == nil {
		return false, false
	}
	return a.asks()
}

// assemble builds the object graph of a configuration.
func assemble(cfg *config.Config, version string, logger *slog.Logger) (*app, error) {
	cfg, importing, err := withImports(cfg)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	a := &app{config: cfg, signIns: &signIns{}, imports: importing, logger: logger, backends: backends(cfg, logger)}
	for _, s := range cfg.Servers {
		if _, err := rootCAs(s); err != nil {
			return nil, err
		}
	}
	if importing != nil {
		a.logImports(imports.Set{}, *importing.latest.Load())
	}
	a.sessions = newSessions(func(s config.Server) *downstream.Session {
		reached := reach(s, version, logger)
		reached.MaxResultBytes = int64(cfg.Execution.MaxToolResultBytes)
		reached.Credentials = a.credentials(s, reached.RootCAs, version)
		if s.Elicitation {
			reached.Elicitation = a.elicitation
		}
		return downstream.New(reached)
	})
	a.registry, err = registry.New(nil, registry.Options{
		Allow: cfg.Tools.Allow, Block: cfg.Tools.Block, Direct: cfg.Tools.Direct,
		MaxResultBytes: int64(cfg.Execution.MaxToolResultBytes),
		Logger:         logger,
	})
	if err == nil {
		err = a.sessions.replace(cfg.Servers, a.registry.SetServers)
	}
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	a.selection = newSelection(cfg.Execution.Sandbox, a.backends, logger)
	a.sandboxes = a.selection
	a.executor = a.newExecutor(a.selection)
	return a, nil
}

// keepWarm has programs run in sandboxes that wait for them, as many as are
// configured. It boots none yet.
func (a *app) keepWarm() *warm.Pool {
	pool := warm.New(a.selection, warm.Config{
		Size: a.config.Execution.PoolSize, Max: a.config.Execution.PoolMax,
		Logger: a.logger,
	})
	a.sandboxes = pool
	a.executor = a.newExecutor(pool)
	return pool
}

// backends are the candidates for the sandbox, the preferred ones first.
func backends(cfg *config.Config, logger *slog.Logger) []sandbox.Backend {
	list := []sandbox.Backend{docker.New(docker.Config{
		Host: cfg.Docker.Host, Image: cfg.Docker.Image, Runtime: cfg.Docker.Runtime, Pull: cfg.Docker.Pull,
		Logger: logger,
	})}
	switch runtime.GOOS {
	case "darwin":
		list = append(list, seatbelt.New(seatbelt.Config{Python: cfg.Python.Path, Logger: logger}))
	case "linux":
		list = append(list, native.New(native.Config{
			Python: cfg.Python.Path, NoZygote: !cfg.Native.Zygote, Logger: logger,
		}))
	}
	return append(list, unconfined.New(unconfined.Config{Python: cfg.Python.Path, Logger: logger}))
}

// newExecutor returns an executor over the backend, with the configured limits.
func (a *app) newExecutor(backend sandbox.Backend) *executor.Executor {
	e, spec := a.config.Execution, a.spec()
	return executor.New(backend, a.registry, executor.Limits{
		Timeout:            seconds(e.TimeoutSeconds),
		ToolCallTimeout:    seconds(e.ToolCallTimeoutSeconds),
		MaxToolCalls:       e.MaxToolCalls,
		MaxConcurrentCalls: e.MaxConcurrentCalls,
		MaxToolResultBytes: int64(e.MaxToolResultBytes),
		MaxOutputBytes:     e.MaxOutputBytes,
		MemoryBytes:        spec.MemoryBytes,
		CPUs:               spec.CPUs,
		Processes:          spec.Processes,
		ScratchBytes:       spec.ScratchBytes,
		OpenFiles:          spec.OpenFiles,
	}, a.logger)
}

// spec is what an executor asks of every sandbox.
func (a *app) spec() sandbox.Spec {
	e := a.config.Execution
	return sandbox.Spec{
		MemoryBytes:  int64(e.MaxMemoryBytes),
		CPUs:         e.MaxCPUs,
		Processes:    e.MaxProcesses,
		ScratchBytes: int64(e.MaxScratchBytes),
		OpenFiles:    e.MaxOpenFiles,
	}
}

// connect has every server connect, in the background.
func (a *app) connect() { a.sessions.start() }

// close ends all servers, at the same time, and waits until the sandboxes are
// removed.
func (a *app) close() error {
	if a.executor != nil {
		_ = a.executor.Close() // what it gives back is then removed with the rest
	}
	closers := []io.Closer{a.sandboxes, a.sessions, a.signIns}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	errs := make([]error, len(closers))
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i, c := range closers {
		wg.Go(func() { errs[i] = c.Close() })
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return errors.Join(errs...)
	case <-ctx.Done():
		return errors.New("servers or sandboxes did not end in time; those that are left are removed at the next start")
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
