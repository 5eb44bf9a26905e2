// Package seatbelt carries the macOS sandbox profile, base.sb, and completes it
// with the paths of one machine.
//
// It knows the profile's text and its parameters. It knows nothing of how
// sandboxes are started, and imports nothing internal.
package seatbelt

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
)

//go:embed base.sb
var base string

// Paths are what a profile opens. Every path is absolute, clean, and without
// symbolic links, except those of Steps.
type Paths struct {
	// Python is the interpreter's executable.
	Python string
	// Scratch is the only folder that can be written to.
	Scratch string
	// Libraries are folders that can be read whole.
	Libraries []string
	// Packages are folders inside of Libraries that cannot.
	Packages []string
	// Dylibs are libraries outside of Libraries. There may be none.
	Dylibs []string
	// Markers are files that the interpreter looks for, mostly in vain.
	Markers []string
	// Steps are the folders and links on the way to all of these.
	Steps []string
}

// Profile returns the profile for these paths, and the value of each of its
// parameters as sandbox-exec takes them after -D: NAME=path. No path is ever
// part of the profile's text, so none can change its meaning.
//
// It is an error to leave out a path, except for Dylibs: a rule without one
// would hold for all.
func Profile(p Paths) (text string, definitions []string, err error) {
	lists := []struct {
		name  string
		paths []string
	}{
		{"LIBRARY", p.Libraries}, {"PACKAGES", p.Packages}, {"DYLIB", p.Dylibs},
		{"MARKER", p.Markers}, {"STEP", p.Steps},
	}
	define := func(name, path string) {
		if err == nil && (!filepath.IsAbs(path) || strings.ContainsRune(path, 0)) {
			err = fmt.Errorf("seatbelt: %s is %q, not an absolute path", name, path)
		}
		definitions = append(definitions, name+"="+path)
	}
	define("PYTHON", p.Python)
	define("SCRATCH", p.Scratch)
	text = base
	for _, list := range lists {
		if len(list.paths) == 0 && list.name != "DYLIB" {
			return "", nil, fmt.Errorf("seatbelt: no path for %s", list.name)
		}
		text = repeat(text, list.name, len(list.paths))
		for i, path := range list.paths {
			define(numbered(list.name, i), path)
		}
	}
	if err != nil {
		return "", nil, err
	}
	return text, definitions, nil
}

// repeat writes each line that has the parameter n times, with its number.
func repeat(text, name string, n int) string {
	parameter := func(name string) string { return `(param "` + name + `")` }
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, parameter(name)) {
			b.WriteString(line)
			continue
		}
		for i := range n {
			b.WriteString(strings.ReplaceAll(line, parameter(name), parameter(numbered(name, i))))
		}
	}
	return b.String()
}

func numbered(name string, i int) string { return fmt.Sprintf("%s_%d", name, i) }
