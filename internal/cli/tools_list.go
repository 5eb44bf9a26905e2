package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

type toolsListOptions struct {
	common
	server           string
	signatures, json bool
}

func newToolsList(streams Streams, version string) *cobra.Command {
	var options toolsListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tools a program may call",
		Long: `Lists the callable names, one a line, sorted. Servers that are not connected are
named on standard error.`,
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listTools(cmd.Context(), streams, version, options)
		},
	}
	options.registerConnecting(cmd, "error")
	flags := cmd.Flags()
	flags.StringVar(&options.server, "server", "", "list the tools of this `server` only")
	flags.BoolVar(&options.signatures, "signatures", false, "show how each is called, and what it is for")
	flags.BoolVar(&options.json, "json", false, "print one JSON object: the tools, and the servers that are missing")
	return cmd
}

func listTools(ctx context.Context, streams Streams, version string, options toolsListOptions) error {
	return withCatalogue(ctx, streams, version, options.common, func(a *app) error {
		server, err := a.await(ctx, streams, options.server)
		if err != nil {
			return err
		}
		list, err := a.registry.List(server)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		absent := a.missing(server)
		if options.json {
			err = printJSON(streams.Out, struct {
				Tools   []tool.Listed   `json:"tools"`
				Missing []missingServer `json:"missing"`
			}{list, absent})
		} else {
			if server == "" {
				printMissing(streams.Err, absent)
			}
			err = printListed(streams.Out, list, options.signatures)
		}
		if err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		return needed(server, absent)
	})
}

// printListed writes a tool a line, or its signature and below it what it is
// for.
func printListed(w io.Writer, list []tool.Listed, signatures bool) error {
	style := newStyle(w)
	out := &errWriter{w: w}
	for _, t := range list {
		if !signatures {
			out.printf("%s\n", t.Name)
			continue
		}
		out.printf("%s\n", style.bold(t.Signature))
		if t.Summary != "" {
			out.printf("    %s\n", t.Summary)
		}
	}
	return out.err
}
