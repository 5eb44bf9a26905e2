//go:build unix

package seatbelt

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// tree makes files and, where the text begins with "->", links.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if len(text) > 2 && text[:2] == "->" {
			err = os.Symlink(text[2:], path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestAWalkPassesEveryFolderAndLink(t *testing.T) {
	root := tree(t, map[string]string{
		"cellar/python/3.12/bin/python3.12": "binary",
		"opt/python":                        "->../cellar/python/3.12",
		"bin/python3":                       "->../opt/python/bin/python3",
		"cellar/python/3.12/bin/python3":    "->python3.12",
		"loop/a":                            "->b",
		"loop/b":                            "->a",
	})
	under := func(names ...string) []string {
		for i, name := range names {
			names[i] = filepath.Join(root, name)
		}
		return names
	}
	end, passed, err := walk(filepath.Join(root, "bin", ".", "python3"))
	if err != nil || end != filepath.Join(root, "cellar/python/3.12/bin/python3.12") {
		t.Errorf("it ends at %s (%v)", end, err)
	}
	for _, want := range under("bin", "bin/python3", "opt", "opt/python", "cellar", "cellar/python", "cellar/python/3.12", "cellar/python/3.12/bin", "cellar/python/3.12/bin/python3") {
		if !slices.Contains(passed, want) {
			t.Errorf("%s is not among what was passed: %q", want, passed)
		}
	}
	if slices.Contains(passed, end) {
		t.Error("the end is among what was passed")
	}
	for _, path := range append(under("loop/a", "bin/nothing"), "bin/python3", "") {
		if _, _, err := walk(path); err == nil {
			t.Errorf("no error for %q", path)
		}
	}
}
