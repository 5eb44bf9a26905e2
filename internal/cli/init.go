package cli

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/config/clients"
	"github.com/ptc-mcp/ptc-mcp/internal/setup"
)

type initOptions struct {
	config                string
	from, only, exclude   []string
	register              []string
	secrets               string
	yes, takeOver, dryRun bool
	json, registerAsked   bool
}

func newInit(streams Streams, _ string) *cobra.Command {
	var options initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Take over the servers that your other clients have, and register ptc-mcp",
		Long: `Finds the MCP servers that Claude Code, Claude Desktop, VS Code, Cursor, Codex,
Gemini CLI and Windsurf have, for you and for the present folder, lets you
choose, and writes them into ptc-mcp's configuration file, to what is there
already. Then it registers ptc-mcp in the client you name, and, if you want,
stops the servers there that programs now reach through ptc-mcp.

Every file that changes is copied first, and the copy is named. --dry-run shows
what would change, and writes nothing. A second run changes nothing.

Exit codes: 0 success, 1 a file could not be written, 2 bad usage, or a
configuration file that cannot be read, 130 interrupted.`,
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.registerAsked = cmd.Flags().Changed("register")
			return runInit(cmd.Context(), streams, options)
		},
	}
	names := strings.Join(config.Clients(), ", ")
	flags := cmd.Flags()
	flags.StringVar(&options.config, "config", "", "configuration `file` to write; without it $"+config.EnvironmentVariable+", then the user's configuration folder")
	flags.StringSliceVar(&options.from, "from", nil, "`clients` to look at: "+names+" (default all)")
	flags.StringSliceVar(&options.only, "only", nil, "`names` of the servers to take over (default all that can be)")
	flags.StringSliceVar(&options.exclude, "exclude", nil, "`names` of servers to leave")
	flags.StringSliceVar(&options.register, "register", nil, "`clients` to register ptc-mcp in, or none")
	flags.BoolVar(&options.takeOver, "take-over", false, "stop, in those clients, the servers that ptc-mcp serves")
	flags.StringVar(&options.secrets, "secrets", "copy", "what to do with values that look like secrets: copy, or variables (refer to variables instead)")
	flags.BoolVarP(&options.yes, "yes", "y", false, "ask nothing; registers ptc-mcp only where --register says so")
	flags.BoolVar(&options.dryRun, "dry-run", false, "show what would change, and write nothing")
	flags.BoolVar(&options.json, "json", false, "print one JSON object; implies --yes")
	return cmd
}

func runInit(ctx context.Context, streams Streams, options initOptions) error {
	place, err := clients.Here()
	if err != nil {
		return err
	}
	chosen, err := options.choices()
	if err != nil {
		return err
	}
	found, err := setup.Find(place, chosen.from, chosen.config)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if chosen.Take, err = options.take(found); err != nil {
		return err
	}
	dialog := newDialog(ctx, streams)
	ask := !options.yes && !options.json && !options.dryRun
	if ask && !dialog.terminal {
		return usageErrorf("init: there is no terminal to ask questions in; pass --yes, or --dry-run to see what it would do")
	}
	report := newInitReport(found, options.dryRun)
	if !options.json {
		report.printFound(streams.Out)
	}
	if ask {
		if err := dialog.choose(found, options, &chosen.Options); err != nil {
			return err
		}
	}
	plan, err := setup.Make(place, found, chosen.Options)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	report.planned(plan, chosen.Options)
	if !options.dryRun {
		if ask && len(plan.Changes) > 0 {
			report.printPlan(streams.Out, plan)
			if yes, err := dialog.confirm("Write this?", true); err != nil || !yes {
				return cmp.Or(err, context.Canceled)
			}
		}
		report.Changes, err = plan.Apply(ctx, time.Now())
	}
	if options.json {
		if jsonErr := printJSON(streams.Out, report); jsonErr != nil {
			return jsonErr
		}
	} else {
		report.printResult(streams.Out, plan)
	}
	return err
}

// choices are options, checked.
type choices struct {
	setup.Options
	from   []*clients.Client
	config string
}

func (o *initOptions) choices() (choices, error) {
	var c choices
	var err error
	if c.from, err = clientsNamed("--from", o.from); err != nil {
		return c, err
	}
	if len(o.from) == 0 {
		c.from = clients.All()
	}
	if !slices.Equal(o.register, []string{"none"}) {
		if c.Register, err = clientsNamed("--register", o.register); err != nil {
			return c, err
		}
	}
	if o.takeOver && len(c.Register) == 0 && (o.yes || o.json || o.dryRun || o.registerAsked) {
		return c, usageErrorf("--take-over: say with --register in which client")
	}
	switch o.secrets {
	case "copy":
	case "variables":
		c.Variables = true
	default:
		return c, usageErrorf("--secrets %s: use copy or variables", o.secrets)
	}
	c.TakeOver = o.takeOver
	if c.config, err = o.configFile(); err != nil {
		return c, err
	}
	if c.Command, err = ownCommand(); err != nil {
		return c, err
	}
	c.Claude, _ = exec.LookPath("claude") // without it, its file is edited
	return c, nil
}

func clientsNamed(flag string, names []string) ([]*clients.Client, error) {
	var list []*clients.Client
	for _, name := range names {
		c := clients.ByName(name)
		if c == nil {
			return nil, usageErrorf("%s %s: no such client; use %s", flag, name, strings.Join(config.Clients(), ", "))
		}
		if !slices.ContainsFunc(list, func(other *clients.Client) bool { return other.Name == c.Name }) {
			list = append(list, c)
		}
	}
	return list, nil
}

func (o *initOptions) configFile() (string, error) {
	if o.config != "" {
		return filepath.Abs(o.config)
	}
	path, err := setup.DefaultConfig()
	if err != nil {
		return "", &exitError{exitUsage, err}
	}
	return path, nil
}

// take are the candidates that --only and --exclude leave.
func (o *initOptions) take(found *setup.Found) ([]int, error) {
	named := func(flag string, names []string) error {
		for _, name := range names {
			if !slices.ContainsFunc(found.Candidates, func(c setup.Candidate) bool { return c.Name == name || c.Server.Name == name }) {
				return usageErrorf("%s %s: no server of that name was found", flag, name)
			}
		}
		return nil
	}
	if err := named("--only", o.only); err != nil {
		return nil, err
	}
	if err := named("--exclude", o.exclude); err != nil {
		return nil, err
	}
	var take []int
	for i, c := range found.Candidates {
		name := c.Server.Name
		if c.Choosable() && (len(o.only) == 0 || slices.Contains(o.only, name)) && !slices.Contains(o.exclude, name) {
			take = append(take, i)
		}
	}
	return take, nil
}

// ownCommand is the path by which a client starts ptc-mcp: the one on PATH,
// which stays where it is when a package manager brings a new version.
func ownCommand() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	if found, err := exec.LookPath("ptc-mcp"); err == nil {
		a, errA := os.Stat(own)
		b, errB := os.Stat(found)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return filepath.Abs(found)
		}
	}
	return own, nil
}
