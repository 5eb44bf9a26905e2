package cli

import (
	"context"
	"io"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptc-mcp/ptc-mcp/internal/mcpserver"
)

// lookAhead is how long after its client's first message a server looks for
// its sandbox, and begins to boot the first, without having been asked for a
// run. Until then the handshake has the machine to itself; and a server that
// nobody speaks to costs nothing.
const lookAhead = 500 * time.Millisecond

// greetingWait is how long servers are connected to after their client's
// greeting, at most: they are told what it can ask its user.
const greetingWait = 250 * time.Millisecond

func newServe(streams Streams, version string) *cobra.Command {
	var (
		flags common
		prof  profiles
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP on standard input and output",
		Args:  exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), streams, version, flags, prof)
		},
	}
	flags.register(cmd, "info")
	prof.register(cmd)
	return cmd
}

// serve runs until the client closes its end or ctx is cancelled. Both are an
// ordinary end.
func serve(ctx context.Context, streams Streams, version string, flags common, prof profiles) error {
	logger, err := flags.logger(streams.Err)
	if err != nil {
		return err
	}
	cfg, path, err := flags.load()
	if err != nil {
		return err
	}
	stop, err := prof.start(logger)
	if err != nil {
		return err
	}
	defer stop()
	a, err := assemble(cfg, version, logger)
	if err != nil {
		return err
	}
	pool := a.keepWarm()
	logger.Info("serving on standard input and output", "version", version, "config", path, "servers", len(a.config.Servers), "sandbox", cfg.Execution.Sandbox)
	options := mcpserver.Options{
		Version:        version,
		Trace:          cfg.Execution.Trace,
		MaxOutputBytes: cfg.Execution.MaxOutputBytes,
		Logger:         logger,
		Notes:          a.importProblems,
	}
	if len(cfg.Tools.Direct) > 0 {
		options.Direct, options.CallTimeout = a.registry, seconds(cfg.Execution.ToolCallTimeoutSeconds)
	}
	options.Greeted = a.connect
	server := mcpserver.New(a.registry, a.executor, options)
	a.registry.OnChange(server.CatalogChanged)
	a.asks = server.Elicitation
	quiet := time.AfterFunc(greetingWait, a.connect)
	defer quiet.Stop()
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { a.follow(ctx) })
	ahead := time.AfterFunc(math.MaxInt64, func() {
		if _, err := a.selection.choose(ctx); err == nil {
			pool.Prime(a.spec())
		} else if ctx.Err() == nil {
			logger.Warn("no usable sandbox yet", slog.Any("error", err))
		}
	})
	spoken := &firstRead{r: streams.In, then: func() { ahead.Reset(lookAhead) }}
	err = server.ServeStdio(ctx, spoken, streams.Out)
	ahead.Stop()
	cancel()
	following.Wait()
	if closeErr := a.close(); closeErr != nil {
		logger.Warn("not everything has ended", slog.Any("error", closeErr))
	}
	return err
}

// firstRead is a reader that tells when the first bytes have come.
type firstRead struct {
	r    io.Reader
	once sync.Once
	then func()
}

func (f *firstRead) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if n > 0 {
		f.once.Do(f.then)
	}
	return n, err
}
