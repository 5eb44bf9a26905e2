// Package imports keeps the servers that a configuration takes from the files
// of other clients, and follows those files.
//
// It owns which entries are in use, the last good state of a file that cannot
// be read, and when a change is seen. It must not know sessions, or how servers
// are started.
package imports

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/config/clients"
)

// Set is what the files say at one moment.
type Set struct {
	// Servers are those in use, their variables expanded.
	Servers []config.Server
	// Sources are the files, those that do not exist too. The entries of one
	// that is broken are the last that could be read.
	Sources []clients.Source
	// Entries are all entries of all sources, used or not.
	Entries []clients.Entry
	// Problems are the files that cannot be read now, a line each.
	Problems []string
}

// Files are the files of one configuration. It is not safe for concurrent use.
type Files struct {
	place  clients.Place
	own    []string // names of the servers that the configuration itself has
	lookup func(string) (string, bool)
	files  []*file
	share  time.Duration // maxShare; tests do not wait
}

// file is one file, as it was read last.
type file struct {
	clients.File
	latest clients.Source
	good   clients.Source // the last that could be read
	seen   fs.FileInfo    // nil where there was none
	// doubtful is set when the file has become unreadable, or has no entries
	// any more: a program that writes it may be at work, so it is looked at
	// once more.
	doubtful bool
	readAt   time.Time     // when it was read last
	took     time.Duration // how long that took
}

// maxShare bounds the part of the time that is spent reading one file, as one
// in so many: Claude Code's own file can be large, and is written all the time.
const maxShare = 20

// New returns the files that the import list of a configuration stands for.
func New(place clients.Place, cfg *config.Config) (*Files, error) {
	f := &Files{place: place, lookup: os.LookupEnv, share: maxShare}
	for _, s := range cfg.Servers {
		f.own = append(f.own, s.Name)
	}
	for _, item := range cfg.Import {
		list, err := clients.ImportFiles(place, item)
		if err != nil {
			return nil, fmt.Errorf("import: %w", err)
		}
		for _, one := range list {
			if !slices.ContainsFunc(f.files, func(other *file) bool { return other.Path == one.Path }) {
				f.files = append(f.files, &file{File: one})
			}
		}
	}
	return f, nil
}

// Read reads all files.
func (f *Files) Read() Set {
	for _, one := range f.files {
		one.read(f.place)
		one.settle()
	}
	return f.set()
}

// refresh reads the files that have changed and reports whether what they say
// is something else.
func (f *Files) refresh(before Set) (Set, bool) {
	read := false
	for _, one := range f.files {
		if !one.changed() && !one.doubtful || time.Since(one.readAt) < f.share*one.took {
			continue
		}
		second := one.doubtful
		one.read(f.place)
		if second {
			one.settle()
		}
		read = true
	}
	if !read {
		return before, false
	}
	set := f.set()
	return set, !reflect.DeepEqual(set.Servers, before.Servers) || !slices.Equal(set.Problems, before.Problems)
}

func (f *file) changed() bool {
	now := stat(f.Path)
	if now == nil || f.seen == nil {
		return (now == nil) != (f.seen == nil)
	}
	return !now.ModTime().Equal(f.seen.ModTime()) || now.Size() != f.seen.Size() || !os.SameFile(now, f.seen)
}

func stat(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// read takes over what can be read; anything else is doubtful at first.
func (f *file) read(place clients.Place) {
	f.seen = stat(f.Path) // before the file is read: what comes later is a change
	f.readAt = time.Now()
	f.latest = clients.Read(place, f.File)
	f.took = time.Since(f.readAt)
	f.doubtful = f.latest.Problem != nil || len(f.latest.Entries) == 0 && len(f.good.Entries) > 0
	if !f.doubtful {
		f.good = f.latest
	}
}

// settle believes what is still so at the second look.
func (f *file) settle() {
	f.doubtful = false
	if f.latest.Problem == nil {
		f.good = f.latest
	}
}

// set puts together what the files say.
func (f *Files) set() Set {
	var set Set
	for _, one := range f.files {
		source := one.good
		source.File = one.File
		if broken := one.latest.Problem; broken != nil && !one.doubtful {
			source.Exists, source.Problem = true, broken
			problem := broken.Error()
			if one.good.Exists {
				problem += "; what it said before holds"
			}
			set.Problems = append(set.Problems, problem)
		}
		source.Entries = slices.Clone(source.Entries)
		set.Sources = append(set.Sources, source)
	}
	set.Entries = clients.Merge(set.Sources)
	for i := range set.Entries {
		e := &set.Entries[i]
		if !e.Usable() {
			continue
		}
		if slices.Contains(f.own, e.Server.Name) {
			e.Problem, e.Expected = "is hidden by the server of that name in the configuration file", true
			continue
		}
		server, err := config.Resolve(e.Server, f.lookup)
		if err != nil {
			e.Problem = reasons(err)
			continue
		}
		set.Servers = append(set.Servers, server)
	}
	return set
}

// reasons puts what is wrong with an entry in one line.
func reasons(err error) string {
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok {
		return err.Error()
	}
	var lines []string
	for _, e := range joined.Unwrap() {
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "; ")
}
