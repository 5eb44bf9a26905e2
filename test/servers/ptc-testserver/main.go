// Command ptc-testserver is an MCP server for tests and measurements: tools
// with every shape of result, and faults on demand. It is written by hand, not
// on an MCP library, so that it can break the protocol, and answers as fast as
// a server can.
//
// It knows nothing of ptc-mcp.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	http       string
	sseReplies bool
	bearer     string
	era        string
	tools      int
	pageSize   int
	oddSchemas bool

	hangInitialize bool
	hangList       bool
	failStart      string
	dieOnCall      string
	dieOnce        string
	spawnChild     bool
	ignoreEnd      bool
	change         bool
	cancelLog      string
	linger         bool
}

// lifetime bounds the processes that do not end when they are told to, should
// a test fail to end them.
const lifetime = 5 * time.Minute

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "ptc-testserver:", err)
		}
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("ptc-testserver", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.http, "http", "", "serve streamable HTTP on this `address` (127.0.0.1:0) instead of stdio; the URL is the first line of the output")
	flags.BoolVar(&o.sseReplies, "sse-replies", false, "http: answer with event streams")
	flags.StringVar(&o.bearer, "bearer", "", "http: refuse requests without this bearer `token`")
	flags.StringVar(&o.era, "era", "legacy", "legacy (initialize), modern (2026-07-28) or both")
	flags.IntVar(&o.tools, "tools", 0, "add `n` generated tools with varied schemas")
	flags.IntVar(&o.pageSize, "page-size", 0, "list `n` tools a page (0: all at once)")
	flags.BoolVar(&o.oddSchemas, "odd-schemas", false, "add tools whose schemas many clients fail to decode")
	flags.BoolVar(&o.hangInitialize, "hang-initialize", false, "never answer initialize and server/discover")
	flags.BoolVar(&o.hangList, "hang-list", false, "never answer tools/list")
	flags.StringVar(&o.failStart, "fail-start", "", "write this `text` to standard error and exit with 1")
	flags.StringVar(&o.dieOnCall, "die-on-call", "", "exit with 3 when this `tool` is called")
	flags.StringVar(&o.dieOnce, "die-once", "", "with -die-on-call: only if this `file` is not there yet; it is made first")
	flags.BoolVar(&o.spawnChild, "spawn-child", false, "start a child that outlives everything but a kill of the group; its pid goes to the journal")
	flags.BoolVar(&o.ignoreEnd, "ignore-end", false, "stdio: go on after the end of input, and ignore SIGTERM and SIGINT")
	flags.BoolVar(&o.change, "change", false, "add the tool change, which changes the list of tools")
	flags.StringVar(&o.cancelLog, "cancel-log", "", "append a line to this `file` for each call that is cancelled")
	flags.BoolVar(&o.linger, "linger", false, "do nothing but live, as the child of -spawn-child")
	// The name of the set of tools may stand before, between or after the
	// flags. There is one set.
	for {
		if err := flags.Parse(args); err != nil {
			return err
		}
		if flags.NArg() == 0 {
			break
		}
		if flags.Arg(0) != "echo" {
			return fmt.Errorf("unknown set of tools %q: the only one is echo", flags.Arg(0))
		}
		args = flags.Args()[1:]
	}
	switch {
	case o.era != "legacy" && o.era != "modern" && o.era != "both":
		return fmt.Errorf("unknown era %q: use legacy, modern or both", o.era)
	case o.failStart != "":
		return errors.New(o.failStart)
	}
	if o.ignoreEnd || o.linger {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	}
	if o.linger {
		linger()
		return nil
	}

	journal, err := openJournal(os.Getenv(journalVariable))
	if err != nil {
		return err
	}
	defer journal.Close()
	journal.write(event{Event: "started", PID: os.Getpid()})
	if o.spawnChild {
		if err := spawnChild(journal); err != nil {
			return err
		}
	}
	cancelLog, err := openJournal(o.cancelLog)
	if err != nil {
		return err
	}
	defer cancelLog.Close()
	s := newServer(o, journal, cancelLog)
	if o.http != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
		defer stop()
		return serveHTTP(ctx, s, stdout)
	}
	err = serveStdio(s, stdin, stdout)
	journal.write(event{Event: "input_ended", PID: os.Getpid()})
	if o.ignoreEnd {
		linger()
	}
	return err
}

func linger() { <-time.After(lifetime) }
