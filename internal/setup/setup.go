// Package setup takes a user from servers that other clients have to a
// configuration file of ptc-mcp, and registers ptc-mcp with a client: which
// files change, how, and the changes themselves, each with a backup.
//
// It owns the plan and its execution. It must not know terminals, flags, or how
// anything is shown; the choices reach it made.
package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/config/clients"
)

// Name is what ptc-mcp is called in a client.
const Name = "ptc"

// Candidate is a server that was found, and what is to become of it.
type Candidate struct {
	clients.Entry
	// Present is set when the configuration file has it already.
	Present bool
	// Secrets are the places in which it seems to hold a secret as it is.
	Secrets []Secret
	// Unset are the variables it needs that are not set now.
	Unset []string
}

// Choosable reports whether it can be taken over.
func (c *Candidate) Choosable() bool { return c.Usable() && !c.Present }

// Found is everything that was found.
type Found struct {
	Candidates []Candidate
	Sources    []clients.Source
	// Config is the configuration file that will be written; Before is its
	// text, nil where it does not exist yet.
	Config string
	Before []byte
}

// Find reads the files of the clients, and the configuration file if there is
// one.
func Find(place clients.Place, from []*clients.Client, configPath string) (*Found, error) {
	found := &Found{Config: configPath}
	var own []config.Server
	data, err := os.ReadFile(configPath)
	switch {
	case err == nil:
		found.Before = data
		if own, err = config.ReadServers(configPath, data); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("configuration: %w", err)
	}
	for _, c := range from {
		found.Sources = append(found.Sources, clients.ReadAll(place, c.Files(place))...)
	}
	for _, e := range clients.Merge(found.Sources) {
		c := Candidate{Entry: e}
		if e.Usable() {
			c.compare(own)
			c.Secrets = secrets(e.Server)
			c.Unset = config.Unset(e.Server, os.LookupEnv)
		}
		found.Candidates = append(found.Candidates, c)
	}
	return found, nil
}

// compare looks whether the configuration file has the server, or another one
// of its name.
func (c *Candidate) compare(own []config.Server) {
	for _, s := range own {
		same := clients.SameServer(s, c.Server) || clients.SameServer(s, withVariables(c.Server, secrets(c.Server)))
		switch {
		case same:
			c.Present, c.Problem, c.Expected = true, "is in the configuration file already", true
			c.Server.Name = s.Name
			return
		case s.Name == c.Server.Name:
			c.Problem, c.Expected = "has the name of another server of the configuration file, which stays as it is", true
		}
	}
}

// Options are the choices that were made.
type Options struct {
	// Take are the candidates to take over, by their indexes.
	Take []int
	// Variables has secrets replaced by ${NAME} in the configuration file.
	Variables bool
	// Register are the clients to register ptc-mcp in, with Command and the
	// arguments that follow from the configuration file.
	Register []*clients.Client
	Command  string
	// Claude is the path of Claude Code's own command; where there is one, it
	// makes the registration.
	Claude string
	// TakeOver stops, in the clients in which ptc-mcp is registered, the
	// servers that it serves.
	TakeOver bool
}

// Change is one file that becomes another one.
type Change struct {
	Path string
	// Before is nil for a file that does not exist. After is the whole new
	// text.
	Before, After []byte
	// Private has the file readable by the user alone.
	Private bool
	// Why says what changes, a line each.
	Why []string
	// Command, where there is one, makes the last part of the change; written
	// is what is in the file before it runs.
	Command []string
	written []byte
}

// Plan is what will be done.
type Plan struct {
	Taken   []Candidate
	Changes []Change
	// Notes are what the user has to know or to do, a line each.
	Notes []string
	// Secrets are values that must not be shown.
	Secrets []string
}

// Make plans the changes. It writes nothing.
func Make(place clients.Place, found *Found, options Options) (*Plan, error) {
	plan := &Plan{}
	if err := plan.configuration(found, options); err != nil {
		return nil, err
	}
	for _, c := range found.Candidates {
		for _, s := range c.Secrets {
			plan.Secrets = append(plan.Secrets, s.Value)
		}
	}
	edits := &edits{}
	for _, c := range options.Register {
		if err := plan.register(place, found, options, c, edits); err != nil {
			return nil, err
		}
	}
	for i := range edits.list {
		if c := edits.list[i]; c.Command != nil || string(c.Before) != string(c.After) {
			plan.Changes = append(plan.Changes, c)
		}
	}
	return plan, nil
}

func (p *Plan) configuration(found *Found, options Options) error {
	var servers []config.Server
	private := false
	var missing []string
	for _, i := range options.Take {
		c := found.Candidates[i]
		if !c.Choosable() {
			continue
		}
		if options.Variables {
			c.Server = withVariables(c.Server, c.Secrets)
		}
		private = private || len(c.Secrets) > 0 && !options.Variables
		servers = append(servers, c.Server)
		missing = append(missing, config.Unset(c.Server, os.LookupEnv)...)
		p.Taken = append(p.Taken, c)
	}
	change := Change{Path: found.Config, Before: found.Before, Private: private || found.Before == nil}
	var err error
	switch {
	case len(servers) > 0:
		if change.After, err = config.AddServers(found.Before, servers); err != nil {
			return err
		}
	case found.Before == nil && len(options.Register) > 0:
		// Without it the registration would name a file that is not there.
		change.After = []byte("# Configuration of ptc-mcp; docs/configuration.md explains every key.\nservers: []\n")
	default:
		return nil
	}
	for _, c := range p.Taken {
		change.Why = append(change.Why, fmt.Sprintf("server %s, from %s (%s)", c.Server.Name, c.File.Client.Title, c.Scope))
	}
	change.written = change.After
	p.Changes = append(p.Changes, change)
	p.explainSecrets(options, found.Config)
	slices.Sort(missing)
	if missing = slices.Compact(missing); len(missing) > 0 {
		p.Notes = append(p.Notes, "set these variables where ptc-mcp is started, or the client that starts it: "+strings.Join(missing, ", "))
	}
	return nil
}

// explainSecrets says plainly where secrets were found and what became of them.
func (p *Plan) explainSecrets(options Options, path string) {
	for _, c := range p.Taken {
		for _, s := range c.Secrets {
			if options.Variables {
				where := c.File.Path
				if options.TakeOver && slices.ContainsFunc(options.Register, func(r *clients.Client) bool { return r.Name == c.File.Client.Name }) {
					where += ", or in the copy of it that is made before the server is stopped there"
				}
				p.Notes = append(p.Notes, fmt.Sprintf("%s: %s seems to hold a secret; the file refers to ${%s} instead: set that variable to the value in %s", c.Server.Name, s.Key, s.Variable, where))
			} else {
				p.Notes = append(p.Notes, fmt.Sprintf("%s: %s seems to hold a secret, which was copied as it is into %s, readable by you alone; to keep it out, write ${%s} there and set that variable", c.Server.Name, s.Key, path, s.Variable))
			}
		}
	}
}

// register plans what happens in one client.
func (p *Plan) register(place clients.Place, found *Found, options Options, c *clients.Client, edits *edits) error {
	file, self := registration(place, c)
	if options.TakeOver {
		if err := p.takeOver(found, c, edits); err != nil {
			return err
		}
	}
	args := []string{"serve", "--config", found.Config}
	if self != nil {
		note := fmt.Sprintf("%s has ptc-mcp already (%s)", c.Title, self.Where())
		if !slices.Equal(self.Server.Args, args) {
			note += ", with other arguments than " + strings.Join(args, " ") + "; remove it there and run init again to have it use this configuration"
		}
		p.Notes = append(p.Notes, note)
		return nil
	}
	change, err := edits.of(file.Path)
	if err != nil {
		return err
	}
	change.written = change.After
	if change.After, err = file.AddServer(change.After, Name, options.Command, args); err != nil {
		return fmt.Errorf("register in %s: %w", c.Title, err)
	}
	change.Why = append(change.Why, "ptc-mcp as "+Name)
	if c.Name == "claude-code" && options.Claude != "" {
		change.Command = append([]string{options.Claude, "mcp", "add", "--scope", "user", Name, "--", options.Command}, args...)
	} else {
		change.written = change.After
	}
	return nil
}

// registration finds the file in which ptc-mcp is, or is to be, registered.
func registration(place clients.Place, c *clients.Client) (clients.File, *clients.Entry) {
	var target *clients.File
	for _, f := range c.Files(place) {
		if f.Scope != clients.User {
			continue
		}
		source := clients.Read(place, f)
		for i := range source.Entries {
			if source.Entries[i].Self {
				return f, &source.Entries[i]
			}
		}
		if target == nil || source.Exists && !exists(target.Path) {
			target = &f
		}
	}
	return *target, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// takeOver stops the servers of a client that ptc-mcp serves in its place.
func (p *Plan) takeOver(found *Found, c *clients.Client, edits *edits) error {
	served := map[string]bool{}
	for _, taken := range p.Taken {
		served[taken.Server.Name] = true
	}
	for _, candidate := range found.Candidates {
		served[candidate.Server.Name] = served[candidate.Server.Name] || candidate.Present
	}
	for _, e := range found.Candidates {
		name := e.Server.Name
		if e.SameAs != "" {
			name = e.SameAs
		}
		if e.File.Client.Name != c.Name || !served[name] || e.Problem != "" && e.SameAs == "" && !e.Present {
			continue
		}
		if e.Scope == clients.Project {
			p.Notes = append(p.Notes, fmt.Sprintf("%s is left in %s, which the project shares; switch it off in %s, or programs and the model both see it", e.Name, e.File.Path, c.Title))
			continue
		}
		change, err := edits.of(e.File.Path)
		if err != nil {
			return err
		}
		if change.After, err = e.StopServer(change.After); err != nil {
			p.Notes = append(p.Notes, err.Error())
			continue
		}
		change.written = change.After
		change.Why = append(change.Why, fmt.Sprintf("%s %s, as ptc-mcp serves it", e.Name, e.Stops()))
		p.noteUncovered(found, e)
	}
	return nil
}

// noteUncovered tells of the entries that the one that is stopped has hidden:
// the client uses them from now on.
func (p *Plan) noteUncovered(found *Found, stopped Candidate) {
	for _, e := range found.Candidates {
		if e.File.Client.Name == stopped.File.Client.Name && e.Name == stopped.Name && e.Scope != stopped.Scope && !e.Usable() && e.Expected {
			p.Notes = append(p.Notes, fmt.Sprintf("%s of %s (%s) was hidden by the one that is stopped, and %s uses it from now on; remove it too if programs are to have it alone",
				e.Name, e.Where(), e.Scope, e.File.Client.Title))
		}
	}
}

// edits are the changes of clients' files, one for each file.
type edits struct{ list []Change }

func (e *edits) of(path string) (*Change, error) {
	for i := range e.list {
		if e.list[i].Path == path {
			return &e.list[i], nil
		}
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	e.list = append(e.list, Change{Path: path, Before: data, After: data, written: data})
	return &e.list[len(e.list)-1], nil
}

// DefaultConfig is where the configuration file is, or is to be.
func DefaultConfig() (string, error) {
	if named := os.Getenv(config.EnvironmentVariable); named != "" {
		return filepath.Abs(named)
	}
	return config.UserFile()
}
