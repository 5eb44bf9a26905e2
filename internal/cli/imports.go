package cli

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/config/clients"
	"github.com/ptc-mcp/ptc-mcp/internal/imports"
)

// importing is what a configuration takes from other clients.
type importing struct {
	own    []config.Server // the configuration's
	files  *imports.Files
	latest atomic.Pointer[imports.Set]
}

// withImports returns the configuration with the imported servers after its
// own, and where they come from.
func withImports(cfg *config.Config) (*config.Config, *importing, error) {
	if len(cfg.Import) == 0 {
		return cfg, nil, nil
	}
	place, err := clients.Here()
	if err != nil {
		return nil, nil, err
	}
	files, err := imports.New(place, cfg)
	if err != nil {
		return nil, nil, err
	}
	i := &importing{own: cfg.Servers, files: files}
	set := files.Read()
	i.latest.Store(&set)
	whole := *cfg
	whole.Servers = slices.Concat(cfg.Servers, set.Servers)
	return &whole, i, nil
}

// follow has the servers in use follow the files until ctx ends.
func (a *app) follow(ctx context.Context) {
	if a.imports == nil {
		return
	}
	before := *a.imports.latest.Load()
	a.imports.files.Follow(ctx, before, func(set imports.Set) {
		a.logImports(before, set)
		before = set
		a.imports.latest.Store(&set)
		err := a.sessions.replace(slices.Concat(a.imports.own, set.Servers), a.registry.SetServers)
		if err != nil { // cannot happen: the names were made unique
			a.logger.Error("imported servers were not taken over", "error", err)
		}
	})
}

// logImports logs what is new in a set.
func (a *app) logImports(before, now imports.Set) {
	for _, problem := range now.Problems {
		if !slices.Contains(before.Problems, problem) {
			a.logger.Warn("a file of another client cannot be read", "problem", problem)
		}
	}
	for _, e := range now.Entries {
		known := slices.ContainsFunc(before.Entries, func(other clients.Entry) bool {
			return other.File.Path == e.File.Path && other.Name == e.Name && other.Problem == e.Problem
		})
		if !known && !e.Usable() {
			log := a.logger.Warn
			if e.Expected {
				log = a.logger.Debug
			}
			log("left out an imported server", "server", e.Name, "at", e.Where(), "reason", e.Problem)
		}
	}
	if len(before.Sources) == 0 {
		return
	}
	a.logger.Info("imported servers changed", "servers", serverNames(now.Servers), "before", serverNames(before.Servers))
}

func serverNames(servers []config.Server) []string {
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = s.Name
	}
	return names
}

// importProblems are the imported files that cannot be read now.
func (a *app) importProblems() []string {
	if a.imports == nil {
		return nil
	}
	return a.imports.latest.Load().Problems
}

// leftOut are the imported entries that cannot be used, but for those that
// another one stands for.
func (a *app) leftOut() []clients.Entry {
	if a.imports == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(a.imports.latest.Load().Entries), func(e clients.Entry) bool { return e.Usable() || e.Expected })
}
