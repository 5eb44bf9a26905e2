package clients

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
)

// Merge returns the entries of all sources, in their order, having settled
// what happens to those of the same name. Within a client its own precedence
// decides (a local entry before a project's, that before the user's), and the
// others are not used. Between clients, an entry that says the same as an
// earlier one repeats it; one that says something else is called
// <name>-<client>, and with a number where even that is taken.
func Merge(sources []Source) []Entry {
	var entries []Entry
	for _, s := range sources {
		entries = append(entries, s.Entries...)
	}
	type key struct{ client, name string }
	first := map[key]*Entry{}
	for i := range entries {
		e := &entries[i]
		k := key{e.File.Client.Name, e.Name}
		if other := first[k]; other == nil || e.rank < other.rank {
			first[k] = e
		}
	}
	var taken []*Entry
	for i := range entries {
		e := &entries[i]
		winner := first[key{e.File.Client.Name, e.Name}]
		switch {
		case !e.Usable():
		case winner != e:
			e.Expected = true
			e.Problem = fmt.Sprintf("is hidden by the entry of the same name in %s (%s)", winner.Where(), winner.Scope)
		default:
			if settle(e, taken); e.Usable() {
				taken = append(taken, e)
			}
		}
	}
	return entries
}

// settle gives an entry its final name, or finds that it is there already.
func settle(e *Entry, taken []*Entry) {
	for _, other := range taken {
		if other.Name == e.Name && SameServer(e.Server, other.Server) {
			e.SameAs, e.Expected = other.Server.Name, true
			e.Problem = fmt.Sprintf("is the same as %s of %s", other.Name, other.File.Client.Title)
			return
		}
	}
	name := FreeName(e.Name, e.File.Client.Name, func(name string) bool {
		return slices.ContainsFunc(taken, func(other *Entry) bool { return other.Server.Name == name })
	})
	if name != e.Name {
		e.Notes = append(e.Notes, "is called "+name+", as another client has a server of its name")
	}
	e.Server.Name = name
}

// FreeName returns name, name-suffix, or name-suffix-2 and so on, whichever is
// not taken.
func FreeName(name, suffix string, taken func(string) bool) string {
	free := name
	for n := 1; taken(free); n++ {
		if free = name + "-" + suffix; n > 1 {
			free = fmt.Sprintf("%s-%d", free, n)
		}
	}
	return free
}

// SameServer reports whether two entries reach the same server in the same
// way; names, time limits and lists of tools aside.
func SameServer(a, b config.Server) bool {
	for _, s := range []*config.Server{&a, &b} {
		s.Name, s.ConnectTimeoutSeconds, s.ListTimeoutSeconds = "", 0, 0
		s.AllowTools, s.BlockTools = nil, nil
		for _, list := range []*[]string{&s.Args, &s.HeadersCommand, &s.Auth.Scopes} {
			if len(*list) == 0 {
				*list = nil
			}
		}
		if len(s.Env) == 0 {
			s.Env = nil
		}
		if len(s.Headers) == 0 {
			s.Headers = nil
		}
	}
	return reflect.DeepEqual(a, b)
}

// ReadAll reads the files of a client that exist, the winning ones first.
func ReadAll(place Place, files []File) []Source {
	var sources []Source
	for _, f := range files {
		if s := Read(place, f); s.Exists && !slices.ContainsFunc(sources, func(other Source) bool { return other.Path == f.Path }) {
			sources = append(sources, s)
		}
	}
	return sources
}
