package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ptc-mcp/ptc-mcp/internal/setup"
)

// initReport is what init found and did; it is printed, or encoded as JSON.
type initReport struct {
	Config  string       `json:"config"`
	DryRun  bool         `json:"dry_run"`
	Servers []initServer `json:"servers"`
	// Unreadable are files that are broken, a line each.
	Unreadable []string `json:"unreadable,omitempty"`
	// Elsewhere counts servers that are kept for other folders only.
	Elsewhere int          `json:"servers_of_other_folders,omitempty"`
	Changes   []setup.Done `json:"changes"`
	// Planned are the changes that a dry run leaves undone, as diffs.
	Planned []string `json:"planned,omitempty"`
	Notes   []string `json:"notes,omitempty"`

	registered bool
	command    string
	taken      int
}

type initServer struct {
	Client    string   `json:"client"`
	Scope     string   `json:"scope"`
	File      string   `json:"file"`
	Line      int      `json:"line"`
	Name      string   `json:"name"`
	As        string   `json:"as,omitempty"`
	Transport string   `json:"transport,omitempty"`
	Target    string   `json:"target,omitempty"`
	Usable    bool     `json:"usable"`
	Taken     bool     `json:"taken"`
	Reason    string   `json:"reason,omitempty"`
	Secrets   []string `json:"secrets,omitempty"`
	Unset     []string `json:"unset_variables,omitempty"`
	Notes     []string `json:"notes,omitempty"`
}

func newInitReport(found *setup.Found, dryRun bool) *initReport {
	r := &initReport{Config: found.Config, DryRun: dryRun, Servers: []initServer{}, Changes: []setup.Done{}}
	mask := setup.Plan{}
	for _, c := range found.Candidates {
		s := initServer{
			Client: c.File.Client.Name, Scope: string(c.Scope), File: c.File.Path, Line: c.Line, Name: c.Name,
			Usable: c.Choosable(), Reason: c.Problem, Unset: c.Unset, Notes: c.Notes,
		}
		if c.Usable() || c.Present {
			s.As, s.Transport = c.Server.Name, string(c.Server.Transport)
			mask.Secrets = nil
			for _, secret := range c.Secrets {
				s.Secrets = append(s.Secrets, secret.Key)
				mask.Secrets = append(mask.Secrets, secret.Value)
			}
			target := strings.TrimSpace(c.Server.URL + strings.Join(append([]string{c.Server.Command}, c.Server.Args...), " "))
			s.Target = strings.ReplaceAll(mask.Mask(target), "$${", "${")
		}
		r.Servers = append(r.Servers, s)
	}
	for _, source := range found.Sources {
		if source.Problem != nil {
			r.Unreadable = append(r.Unreadable, source.Problem.Error())
		}
		r.Elsewhere += source.Elsewhere
	}
	return r
}

func (r *initReport) planned(plan *setup.Plan, options setup.Options) {
	r.Notes, r.registered, r.command, r.taken = plan.Notes, len(options.Register) > 0, options.Command, len(plan.Taken)
	for i := range r.Servers {
		r.Servers[i].Taken = slices.ContainsFunc(plan.Taken, func(c setup.Candidate) bool {
			return c.File.Path == r.Servers[i].File && c.Line == r.Servers[i].Line && c.Name == r.Servers[i].Name
		})
	}
	if r.DryRun {
		for _, c := range plan.Changes {
			r.Planned = append(r.Planned, plan.Diff(c))
		}
	}
}

// printFound writes the table of what was found.
func (r *initReport) printFound(w io.Writer) {
	style := newStyle(w)
	if len(r.Servers) == 0 {
		fmt.Fprintln(w, "No servers were found in other clients.")
	} else {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "#\tclient\tscope\tname\ttransport\tcommand or url\t")
		for i, s := range r.Servers {
			state := "usable"
			switch {
			case !s.Usable:
				state = s.Reason
			case s.As != s.Name:
				state += " as " + s.As
			}
			fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", i+1, s.Client, s.Scope, shorten(s.Name, 32), s.Transport, shorten(s.Target, 44), state)
		}
		_ = table.Flush() // an error of w shows with the next write
	}
	for _, problem := range r.Unreadable {
		fmt.Fprintf(w, "%s %s\n", style.warn("cannot be read:"), problem)
	}
	if r.Elsewhere > 0 {
		fmt.Fprintf(w, "Claude Code has %s for other folders only; run init there to take them over.\n", plural(r.Elsewhere, "server"))
	}
	for _, s := range r.Servers {
		if !s.Usable {
			continue
		}
		for _, note := range s.Notes {
			fmt.Fprintf(w, "%s: %s\n", s.As, note)
		}
	}
	fmt.Fprintln(w)
}

// printPlan says which files will change.
func (r *initReport) printPlan(w io.Writer, plan *setup.Plan) {
	for _, c := range plan.Changes {
		fmt.Fprintf(w, "%s\n", c.Path)
		for _, why := range c.Why {
			fmt.Fprintf(w, "  + %s\n", why)
		}
	}
}

// printResult says what was done, or would be, and what is left to do.
func (r *initReport) printResult(w io.Writer, plan *setup.Plan) {
	style := newStyle(w)
	switch {
	case len(plan.Changes) == 0:
		fmt.Fprintln(w, "Nothing to change.")
	case r.DryRun:
		for i, c := range plan.Changes {
			if c.Command != nil {
				fmt.Fprintf(w, "# by way of: %s\n", strings.Join(c.Command, " "))
			}
			fmt.Fprint(w, r.Planned[i])
		}
		fmt.Fprintln(w, "\nNothing was written.")
	}
	for _, c := range r.Changes {
		fmt.Fprintf(w, "%s %s\n", style.ok("written:"), c.Path)
		for _, why := range c.Why {
			fmt.Fprintf(w, "  %s\n", why)
		}
		if c.Backup != "" {
			fmt.Fprintf(w, "  as it was before: %s\n", c.Backup)
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "%s %s\n", style.warn("note:"), note)
	}
	if r.DryRun {
		return
	}
	if !r.registered {
		fmt.Fprintf(w, "\nTo have a client use it: ptc-mcp init --register CLIENT, or start this there:\n  %s serve --config %s\n", r.command, r.Config)
	}
	fmt.Fprintf(w, "To check it: ptc-mcp doctor --config %s\n", r.Config)
}
