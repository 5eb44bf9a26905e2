package export

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/pystub"
)

const marker = "# generated"

func tree(files ...string) Tree {
	t := Tree{Marker: marker}
	for _, f := range files {
		path, text, _ := strings.Cut(f, "=")
		t.Files = append(t.Files, pystub.File{Path: path, Text: marker + "\n" + text})
	}
	return t
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(filepath.Join(dir, name))
			all = append(all, name+"="+strings.TrimPrefix(string(text), marker+"\n"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func TestOnlyWhatChangedIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	first := tree("p/a.py=1", "p/b/c.py=2", "p/d.py=3")
	if c, err := first.Compare(dir); err != nil || len(c.Written) != 3 {
		t.Errorf("before: %+v, %v", c, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("comparing has made the folder")
	}
	if c, err := first.Apply(dir); err != nil || len(c.Written) != 3 || c.Unchanged != 0 {
		t.Errorf("first: %+v, %v", c, err)
	}
	old, err := os.Stat(filepath.Join(dir, "p", "a.py"))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := first.Compare(dir); err != nil || !c.None() || c.Unchanged != 3 {
		t.Errorf("again: %+v, %v", c, err)
	}
	second := tree("p/a.py=1", "p/d.py=4")
	c, err := second.Apply(dir)
	if err != nil || !slices.Equal(c.Written, []string{"p/d.py"}) || !slices.Equal(c.Removed, []string{"p/b/c.py"}) || c.Unchanged != 1 {
		t.Errorf("second: %+v, %v", c, err)
	}
	if got := listing(t, dir); got != "p/a.py=1 p/d.py=4" {
		t.Errorf("left: %s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "p", "b")); err == nil {
		t.Error("the empty folder is still there")
	}
	if now, err := os.Stat(filepath.Join(dir, "p", "a.py")); err != nil || !os.SameFile(old, now) {
		t.Error("an unchanged file was written anew")
	}
}

func TestFilesOfOthersStay(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "p/own.py", "mine")
	put(t, dir, "p/b/own.py", "mine too")
	put(t, dir, "p/b/old.py", marker+"\nold")
	put(t, dir, "elsewhere/old.py", marker+"\nold")
	if _, err := tree("p/a.py=1").Apply(dir); err != nil {
		t.Fatal(err)
	}
	if got, want := listing(t, dir), "elsewhere/old.py=old p/a.py=1 p/b/own.py=mine too p/own.py=mine"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	_, err := tree("p/a.py=2", "p/own.py=1").Apply(dir)
	var foreign *ForeignError
	if !errors.As(err, &foreign) || !slices.Equal(foreign.Paths, []string{"p/own.py"}) {
		t.Errorf("got %v", err)
	}
	if got := listing(t, dir); !strings.Contains(got, "p/a.py=1 ") {
		t.Errorf("something was written before it failed: %s", got)
	}
}

func TestFoldersToKeepAreNotLookedAt(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "p/down/x.py", marker+"\nx")
	put(t, dir, "p/gone/x.py", marker+"\nx")
	wanted := tree("p/a.py=1")
	wanted.Keep = []string{"p/down"}
	if _, err := wanted.Apply(dir); err != nil {
		t.Fatal(err)
	}
	if got := listing(t, dir); got != "p/a.py=1 p/down/x.py=x" {
		t.Error(got)
	}
}

func TestNothingIsWrittenThroughALink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	put(t, outside, "a.py", marker+"\nprecious")
	if err := os.Symlink(outside, filepath.Join(dir, "p")); err != nil {
		t.Fatal(err)
	}
	if c, err := tree("p/a.py=1").Apply(dir); err == nil {
		t.Errorf("got %+v", c)
	}
	if got := listing(t, outside); got != "a.py=precious" {
		t.Error(got)
	}
}
