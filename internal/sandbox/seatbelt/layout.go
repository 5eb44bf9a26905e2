//go:build unix

package seatbelt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	profile "github.com/ptc-mcp/ptc-mcp/seatbelt"
)

// layout collects what a profile opens for an interpreter. It is the same for
// all sandboxes, except for the scratch folder.
type layout struct {
	paths profile.Paths
}

// newLayout looks at the interpreter's files, without running anything.
func newLayout(python *interpreter) (*layout, error) {
	l := &layout{}
	l.paths.Python = python.executable
	if _, err := l.pass(python.executable); err != nil {
		return nil, err
	}
	images := []string{python.executable}
	for _, path := range python.library {
		real, err := l.pass(path)
		if err != nil {
			return nil, err
		}
		add(&l.paths.Libraries, real)
		entries, err := os.ReadDir(real)
		if err != nil {
			continue // a zip file
		}
		add(&l.paths.Packages, filepath.Join(real, "site-packages"))
		for _, entry := range entries {
			if strings.HasSuffix(entry.Name(), ".so") {
				images = append(images, filepath.Join(real, entry.Name()))
			}
		}
	}
	if contents, ok := strings.CutSuffix(python.executable, "/MacOS/Python"); ok {
		add(&l.paths.Libraries, contents) // the application that a framework's Python is
	}
	needed := newDylibs(python.executable)
	for _, path := range images {
		needed.add(path)
	}
	for _, path := range needed.found {
		real, err := l.pass(path)
		if err != nil {
			return nil, err
		}
		if !l.readable(real) {
			add(&l.paths.Dylibs, real)
		}
	}
	l.mark(python.executable)
	return l, l.check()
}

// pass notes the steps to a path, as it is spelt and as it is resolved, and
// returns where it leads.
func (l *layout) pass(path string) (string, error) {
	end, passed, err := walk(path)
	if err == nil {
		var direct []string
		_, direct, err = walk(end)
		passed = append(passed, direct...)
	}
	if err != nil {
		return "", fmt.Errorf("has a part that cannot be found: %w", err)
	}
	for _, step := range passed {
		add(&l.paths.Steps, step)
	}
	return end, nil
}

// mark notes what an interpreter looks for beside itself and one folder above:
// signs of a virtual environment, of a source tree, of a path file.
func (l *layout) mark(executable string) {
	folder := filepath.Dir(executable)
	for _, folder := range []string{folder, filepath.Dir(folder)} {
		for _, name := range []string{"pyvenv.cfg", "pybuilddir.txt", "Modules/Setup.local", filepath.Base(executable) + "._pth"} {
			add(&l.paths.Markers, filepath.Join(folder, name))
		}
	}
}

// readable tells whether a path is in one of the libraries.
func (l *layout) readable(path string) bool {
	return slices.ContainsFunc(l.paths.Libraries, func(folder string) bool { return within(path, folder) })
}

// check refuses an installation whose folders hold more than Python: reading
// them whole would show the program everything.
func (l *layout) check() error {
	home, _ := os.UserHomeDir() // without one there is nothing to protect there
	for _, library := range l.paths.Libraries {
		if library == "/" || (home != "" && within(home, library)) {
			return fmt.Errorf("keeps its library in %s, where other files are too", library)
		}
	}
	return nil
}

// profile returns the profile and its definitions for a scratch folder, which
// must be resolved.
func (l *layout) profile(scratch string) (text string, definitions []string, err error) {
	_, passed, err := walk(scratch)
	if err != nil {
		return "", nil, err
	}
	paths := l.paths
	paths.Scratch = scratch
	paths.Steps = slices.Clone(paths.Steps)
	for _, step := range passed {
		add(&paths.Steps, step)
	}
	return profile.Profile(paths)
}

// readableByUs says which part of the installation this user cannot read.
func (l *layout) readableByUs() error {
	for _, path := range append([]string{l.paths.Python}, l.paths.Libraries...) {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("has a part that cannot be read: %w", err)
		}
		_ = file.Close()
	}
	return nil
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

func add(list *[]string, path string) {
	if !slices.Contains(*list, path) {
		*list = append(*list, path)
	}
}
