package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

func newTools(streams Streams, version string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List, search, show, call and export the tools of the configured servers",
		Long: `Connects the configured servers and works with their tools, for people and
scripts. Nothing is run in a sandbox.

Exit codes: 0 success, 1 the call failed, 2 bad usage or configuration, or no
such tool or server, 4 a server that was needed could not be reached,
130 interrupted.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usageErrorf("unknown command %q; %s --help lists them", args[0], cmd.CommandPath())
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newToolsList(streams, version),
		newToolsExport(streams, version),
		newToolsSearch(streams, version),
		newToolsShow(streams, version),
		newToolsCall(streams, version),
	)
	return cmd
}

// withCatalogue loads the configuration, has every server connect, lets use
// work with the catalogue, and ends the servers.
func withCatalogue(ctx context.Context, streams Streams, version string, flags common, use func(a *app) error) error {
	logger, err := flags.logger(streams.Err)
	if err != nil {
		return err
	}
	cfg, _, err := flags.load()
	if err != nil {
		return err
	}
	a, err := assemble(cfg, version, logger)
	if err != nil {
		return err
	}
	for _, problem := range a.importProblems() {
		fmt.Fprintf(streams.Err, "ptc-mcp: %s %s\n", newStyle(streams.Err).warn("not imported:"), problem)
	}
	a.connect()
	err = use(a)
	if closeErr := a.close(); closeErr != nil {
		logger.Warn("not everything has ended", "error", closeErr)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// patience is how long a command waits for servers before it says so.
const patience = 2 * time.Second

// await waits until the first attempt of every server to connect has ended, or
// of the one that is named, in any spelling, and returns its name as
// configured. It says whom it waits for when that takes a while.
func (a *app) await(ctx context.Context, streams Streams, spelling string) (server string, err error) {
	if spelling != "" {
		if server, err = a.registry.ServerName(spelling); err != nil {
			return "", &exitError{exitUsage, err}
		}
	}
	awaited := a.sessions.all()
	if server != "" {
		awaited = slices.DeleteFunc(awaited, func(s *downstream.Session) bool { return s.Name() != server })
	}
	return server, a.awaitUntil(ctx, streams, awaited, func() bool { return false })
}

// awaitTool waits until the tool is in the catalogue, or until the first attempt
// of every server to connect has ended. The error says that there is no such
// tool.
func (a *app) awaitTool(ctx context.Context, streams Streams, name string) error {
	var unknown error
	err := a.awaitUntil(ctx, streams, a.sessions.all(), func() bool {
		_, unknown = a.registry.PyTool(name)
		return unknown == nil
	})
	if err == nil && unknown != nil {
		_, unknown = a.registry.PyTool(name)
	}
	switch {
	case err != nil:
		return err
	case unknown != nil:
		return a.toolError(unknown)
	}
	return nil
}

// awaitUntil waits until enough says so, asked whenever a session has settled,
// or until all have.
func (a *app) awaitUntil(ctx context.Context, streams Streams, awaited []*downstream.Session, enough func() bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	settled := make(chan struct{}, len(awaited))
	for _, s := range awaited {
		go func() {
			select {
			case <-s.Settled():
			case <-ctx.Done():
			}
			settled <- struct{}{}
		}()
	}
	notice := time.After(patience)
	for n := 0; n < len(awaited); {
		select {
		case <-settled:
			n++
			a.registry.Prepare(ctx, "") // its news may still be on its way to the catalogue
			if enough() {
				return nil
			}
		case <-notice:
			fmt.Fprintf(streams.Err, "ptc-mcp: waiting for %s\n", strings.Join(unsettled(awaited), ", "))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

func unsettled(sessions []*downstream.Session) []string {
	var names []string
	for _, s := range sessions {
		select {
		case <-s.Settled():
		default:
			names = append(names, s.Name())
		}
	}
	return names
}

// toolError is the error of a tool that could not be used, with its exit code:
// a name that no tool has is bad usage, unless it may be one of a server that
// is not there.
func (a *app) toolError(err error) error {
	failed := tool.AsError("", err)
	code := exitProgram
	switch {
	case failed.Kind == tool.KindConnection && !failed.Sent:
		code = exitServer
	case failed.Kind == tool.KindUnknown:
		code = exitUsage
		for _, s := range a.missing("") {
			err = fmt.Errorf("%w; not connected: %s (%s)", err, s.Name, s.Reason)
		}
	}
	return &exitError{code, err}
}

// missingServer is a server whose tools are not listed.
type missingServer struct {
	Name   string `json:"server"`
	Reason string `json:"reason"`
}

// missing are the servers whose tools are not listed: all such, or the one that
// is named if it is one.
func (a *app) missing(server string) []missingServer {
	absent := []missingServer{}
	for _, s := range a.registry.Servers() {
		if server != "" && s.Name != server || s.Connected && s.Error == "" {
			continue
		}
		absent = append(absent, missingServer{s.Name, cmp.Or(s.Error, "still connecting")})
	}
	for _, e := range a.leftOut() {
		if server == "" || server == e.Name {
			absent = append(absent, missingServer{e.Name, fmt.Sprintf("left out of %s: %s", e.Where(), e.Problem)})
		}
	}
	return absent
}

// printMissing names the servers whose tools are not listed.
func printMissing(w io.Writer, absent []missingServer) {
	style := newStyle(w)
	for _, s := range absent {
		fmt.Fprintf(w, "ptc-mcp: %s %s (%s)\n", style.warn("not connected:"), s.Name, s.Reason)
	}
}

// needed is the error for a server that was asked for and is missing.
func needed(server string, absent []missingServer) error {
	if server == "" || len(absent) == 0 {
		return nil
	}
	return &exitError{exitServer, fmt.Errorf("not connected: %s (%s)", absent[0].Name, absent[0].Reason)}
}
