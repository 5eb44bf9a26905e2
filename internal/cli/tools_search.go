package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

type toolsSearchOptions struct {
	common
	query, server string
	limit         int
	json          bool
}

func newToolsSearch(streams Streams, version string) *cobra.Command {
	var options toolsSearchOptions
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find the tools that fit a few words",
		Long: `Shows the tools that fit a few words best, the best first, with how each is
called and what it is for. A tool's name finds that tool.`,
		Args: func(_ *cobra.Command, args []string) error {
			options.query = strings.Join(args, " ")
			switch {
			case strings.TrimSpace(options.query) == "":
				return usageErrorf("no query; say in a few words what the tool should do")
			case len(options.query) > tool.MaxQuery:
				return usageErrorf("the query has %d bytes; use at most %d", len(options.query), tool.MaxQuery)
			case options.limit < 1 || options.limit > tool.MaxFound:
				return usageErrorf("--limit %d: not from 1 to %d", options.limit, tool.MaxFound)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return searchTools(cmd.Context(), streams, version, options)
		},
	}
	options.registerConnecting(cmd, "error")
	flags := cmd.Flags()
	flags.IntVar(&options.limit, "limit", tool.DefaultFound, "show at most so many `tools`")
	flags.StringVar(&options.server, "server", "", "search the tools of this `server` only")
	flags.BoolVar(&options.json, "json", false, "print one JSON object: the tools, how many there are, and the servers that are missing")
	return cmd
}

func searchTools(ctx context.Context, streams Streams, version string, options toolsSearchOptions) error {
	return withCatalogue(ctx, streams, version, options.common, func(a *app) error {
		server, err := a.await(ctx, streams, options.server)
		if err != nil {
			return err
		}
		found, err := a.registry.Search(options.query, options.limit, server)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		absent := a.missing(server)
		if options.json {
			err = printJSON(streams.Out, struct {
				tool.SearchResult
				Missing []missingServer `json:"missing"`
			}{found, absent})
		} else {
			if server == "" {
				printMissing(streams.Err, absent)
			}
			fmt.Fprintf(streams.Err, "ptc-mcp: %d of %d that match, among %d tools\n", len(found.Tools), found.Total, found.Searched)
			err = printListed(streams.Out, found.Tools, true)
		}
		if err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		return needed(server, absent)
	})
}
