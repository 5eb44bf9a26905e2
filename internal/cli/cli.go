// Package cli is the command line: one file a command, and assemble.go, which
// builds the whole object graph and alone names concrete backends.
//
// It owns flags, exit codes, and everything written to the terminal. It must
// not hold the work itself: each command asks a package below for it.
package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run executes the command line, without the program's name, and returns the
// exit code. Cancelling ctx interrupts the command.
func Run(ctx context.Context, args []string, streams Streams, version string) int {
	root := newRoot(streams, version) //nolint:contextcheck // commands get theirs from cobra
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if message := failureText(err); message != "" {
		fmt.Fprintf(streams.Err, "ptc-mcp: %s\n", message)
	}
	return exitCode(err)
}

func newRoot(streams Streams, version string) *cobra.Command {
	root := &cobra.Command{
		Use:   "ptc-mcp",
		Short: "Runs programs that call MCP tools, in a sandbox",
		Long: `ptc-mcp is an MCP server. It runs a Python program in a throwaway sandbox
without a network, with the tools of your other MCP servers in it as async
functions, and returns only what the program prints.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			message := fmt.Sprintf("unknown command %q", args[0])
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				message += "; did you mean " + strings.Join(near, " or ") + "?"
			} else {
				message += "; ptc-mcp help lists them"
			}
			return usageErrorf("%s", message)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageErrorf("%v; %s --help lists the flags", err, cmd.CommandPath())
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(
		newServe(streams, version),
		newInit(streams, version),
		newRun(streams, version),
		newDoctor(streams, version),
		newLogin(streams, version),
		newLogout(streams, version),
		newTools(streams, version),
		newVersion(streams, version),
	)
	return root
}

// exactly wants so many arguments, named in the command's usage line.
func exactly(count int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != count {
			return usageErrorf("%d arguments given; the usage is: %s", len(args), cmd.UseLine())
		}
		return nil
	}
}
