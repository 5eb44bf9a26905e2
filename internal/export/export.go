// Package export brings a folder of generated files up to date: it writes what
// differs, removes what an earlier export left behind, and never touches a file
// that is somebody's own.
//
// It owns the comparison and the writing. It must not know what the files say:
// its own are those that begin with the marker it is given.
package export

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/pystub"
)

// Tree is what a folder is to hold.
type Tree struct {
	// Files are sorted by path; all begin with Marker.
	Files  []pystub.File
	Marker string
	// Keep are folders whose files stay as they are.
	Keep []string
}

// Changes are the paths that differ, sorted, with forward slashes.
type Changes struct {
	Written   []string `json:"written"`
	Removed   []string `json:"removed"`
	Unchanged int      `json:"unchanged"`
}

// None reports whether everything is up to date.
func (c *Changes) None() bool { return len(c.Written)+len(c.Removed) == 0 }

// ForeignError names files that are in the way and were not written by an
// export.
type ForeignError struct{ Paths []string }

// Error names at most three of them.
func (e *ForeignError) Error() string {
	shown := e.Paths[:min(len(e.Paths), 3)]
	text := strings.Join(shown, ", ")
	if more := len(e.Paths) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ": not written by an export; move them, or export into another folder"
}

// Compare tells what Apply would change in the folder dir, which need not
// exist. The error is a *ForeignError when a file is in the way.
func (t Tree) Compare(dir string) (*Changes, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		c := &Changes{Removed: []string{}}
		for _, f := range t.Files {
			c.Written = append(c.Written, f.Path)
		}
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	defer root.Close()
	return t.compare(root)
}

// Apply brings the folder dir up to date, making it where it is missing. When a
// file is in the way, nothing is changed and the error is a *ForeignError. Each
// file is replaced as a whole.
func (t Tree) Apply(dir string) (*Changes, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as mkdir makes it: the files hold no secret
		return nil, fmt.Errorf("export: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	defer root.Close()
	changes, err := t.compare(root)
	if err != nil {
		return nil, err
	}
	for _, f := range t.Files {
		if _, changed := slices.BinarySearch(changes.Written, f.Path); changed {
			if err := replace(root, f); err != nil {
				return nil, fmt.Errorf("export: %w", err)
			}
		}
	}
	for _, name := range changes.Removed {
		if err := root.Remove(name); err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		// A folder that still holds something stays.
		_ = root.Remove(path.Dir(name))
	}
	return changes, nil
}

func replace(root *os.Root, f pystub.File) error {
	if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
		return err
	}
	// Written beside it and renamed, so that nobody reads half a file.
	temporary := f.Path + ".ptc-mcp-new"
	if err := root.WriteFile(temporary, []byte(f.Text), 0o644); err != nil {
		return err
	}
	return root.Rename(temporary, f.Path)
}

func (t Tree) compare(root *os.Root) (*Changes, error) {
	c := &Changes{Written: []string{}, Removed: []string{}}
	var foreign []string
	for _, f := range t.Files {
		present, err := root.ReadFile(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c.Written = append(c.Written, f.Path)
		case err != nil: // a folder, a link out of here, a file that may not be read
			foreign = append(foreign, f.Path)
		case string(present) == f.Text:
			c.Unchanged++
		case !bytes.HasPrefix(present, []byte(t.Marker)):
			foreign = append(foreign, f.Path)
		default:
			c.Written = append(c.Written, f.Path)
		}
	}
	if len(foreign) > 0 {
		return nil, &ForeignError{foreign}
	}
	var err error
	if c.Removed, err = t.stale(root); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return c, nil
}

// stale are the files that an earlier export wrote and this one does not, in
// the folders that the tree has.
func (t Tree) stale(root *os.Root) ([]string, error) {
	wanted := map[string]bool{}
	tops := map[string]bool{}
	for _, f := range t.Files {
		wanted[f.Path] = true
		top, _, _ := strings.Cut(f.Path, "/")
		tops[top] = true
	}
	stale := []string{}
	for top := range tops {
		err := fs.WalkDir(root.FS(), top, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case entry.IsDir() && slices.Contains(t.Keep, name):
				return fs.SkipDir
			case entry.Type().IsRegular() && !wanted[name] && t.marked(root, name):
				stale = append(stale, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(stale)
	return stale, nil
}

// marked reports whether a file begins with the marker.
func (t Tree) marked(root *os.Root, name string) bool {
	file, err := root.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	start := make([]byte, len(t.Marker))
	n, err := file.Read(start)
	return err == nil && string(start[:n]) == t.Marker
}
