package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ptc-mcp/ptc-mcp/internal/export"
	"github.com/ptc-mcp/ptc-mcp/internal/pystub"
)

type toolsExportOptions struct {
	common
	check, json bool
}

func newToolsExport(streams Streams, version string) *cobra.Command {
	var options toolsExportOptions
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write the tools as a typed Python package, for editors and type checkers",
		Long: `Writes DIR/servers, a Python package with one file a tool: its signature, its
documentation and the types of its arguments and result. An editor or a type
checker that finds DIR understands programs written for ptc-mcp.

Only files that changed are written, and files of an earlier export that are no
longer wanted are removed. Other files are never touched. The files of a server
that is not connected stay as they are, and the exit code is 4.

With --check nothing is written; the exit code is 1 when something would be.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return exportTools(cmd.Context(), streams, version, args[0], options)
		},
	}
	options.registerConnecting(cmd, "error")
	flags := cmd.Flags()
	flags.BoolVar(&options.check, "check", false, "write nothing; exit with 1 when the folder is out of date")
	flags.BoolVar(&options.json, "json", false, "print one JSON object: what was written and removed, and the servers that are missing")
	return cmd
}

func exportTools(ctx context.Context, streams Streams, version, dir string, options toolsExportOptions) error {
	return withCatalogue(ctx, streams, version, options.common, func(a *app) error {
		if _, err := a.await(ctx, streams, ""); err != nil {
			return err
		}
		absent := a.missing("")
		tree, err := a.exportTree(dir, absent)
		if err != nil {
			return err
		}
		apply := tree.Apply
		if options.check {
			apply = tree.Compare
		}
		changes, err := apply(dir)
		var foreign *export.ForeignError
		if errors.As(err, &foreign) {
			return &exitError{exitUsage, fmt.Errorf("%s: %w", dir, err)}
		}
		if err != nil {
			return err
		}
		if err := printExport(streams, dir, options, changes, absent); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		switch {
		case len(absent) > 0:
			return &exitError{code: exitServer}
		case options.check && !changes.None():
			return &exitError{code: exitProgram}
		}
		return nil
	})
}

// exportTree is what the folder is to hold: the tools of the servers that are
// there, and what it has of the absent ones.
func (a *app) exportTree(dir string, absent []missingServer) (export.Tree, error) {
	tools, err := a.registry.PyTools("")
	if err != nil {
		return export.Tree{}, err
	}
	tree := export.Tree{Marker: pystub.Marker}
	var present []string
	for _, s := range absent {
		name := a.registry.PyServer(s.Name)
		tree.Keep = append(tree.Keep, "servers/"+name)
		if _, err := os.Stat(filepath.Join(dir, "servers", name, "__init__.py")); err == nil {
			present = append(present, name)
		}
	}
	tree.Files = pystub.Package(tools, present...)
	return tree, nil
}

func printExport(streams Streams, dir string, options toolsExportOptions, changes *export.Changes, absent []missingServer) error {
	if options.json {
		return printJSON(streams.Out, struct {
			Dir string `json:"dir"`
			*export.Changes
			Missing []missingServer `json:"missing"`
		}{dir, changes, absent})
	}
	printMissing(streams.Err, absent)
	out := &errWriter{w: streams.Out}
	if !options.check {
		out.printf("%s: %d written, %d removed, %d unchanged\n", dir, len(changes.Written), len(changes.Removed), changes.Unchanged)
		return out.err
	}
	for _, path := range changes.Written {
		out.printf("out of date: %s\n", path)
	}
	for _, path := range changes.Removed {
		out.printf("no longer wanted: %s\n", path)
	}
	if changes.None() {
		out.printf("%s: %d files up to date\n", dir, changes.Unchanged)
	}
	return out.err
}
