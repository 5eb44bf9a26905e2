// Command ptc-mcp is an MCP server that runs programs which call the tools of
// other MCP servers. This package holds what belongs to the process: signals,
// streams and the exit code.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/ptc-mcp/ptc-mcp/internal/cli"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/native"
)

// version is set when a release is built.
var version = ""

func main() {
	// The native sandbox starts this binary again as the first process of each
	// sandbox; then Init does not return.
	native.Init()
	os.Exit(run())
}

// gcPercent trades memory for speed. The heap is a few MB, which a thousand calls
// at once fill several times over: at Go's 100 the collector took a quarter of
// the processor time of such calls. An idle server grows from 21 to 24 MB.
const gcPercent = 200

func run() int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// The first signal ends the work in an orderly way, the second the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	// A reader of the output that has gone is then an error of a write, which
	// lets servers and sandboxes be ended; by default it kills the process.
	// Ignoring the signal instead would pass that on to the servers.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	return cli.Run(ctx, os.Args[1:], streams, release())
}

// release is the version built in, or that of the module that go install
// fetched.
func release() string {
	if version != "" {
		return version
	}
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" && build.Main.Version != "(devel)" {
		return build.Main.Version
	}
	return "dev"
}
