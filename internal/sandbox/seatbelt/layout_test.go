//go:build unix

package seatbelt

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/seatbelt/seatbelttest"
)

// homebrew is a Python as Homebrew installs it, reached through its links.
func homebrew(t *testing.T) (root string, python *interpreter) {
	t.Helper()
	const framework = "Cellar/python@3.12/3.12.7/Frameworks/Python.framework/Versions/3.12"
	root = tree(t, map[string]string{
		framework + "/Resources/Python.app/Contents/MacOS/Python": "written below",
		framework + "/Resources/Python.app/Contents/Info.plist":   "",
		framework + "/Python":                                machO(amd64),
		framework + "/lib/python3.12/os.py":                  "",
		framework + "/lib/python3.12/site-packages/mine/key": "",
		framework + "/lib/python3.12/lib-dynload/_json.so":   machO(amd64),
		"Cellar/openssl@3/3.4.0/lib/libssl.3.dylib":          machO(amd64),
		"opt/openssl@3":   "->../Cellar/openssl@3/3.4.0",
		"opt/python@3.12": "->../Cellar/python@3.12/3.12.7",
		"etc/secret":      "",
	})
	executable := filepath.Join(root, framework, "Resources/Python.app/Contents/MacOS/Python")
	for path, needs := range map[string]string{
		executable: filepath.Join(root, framework, "Python"),
		filepath.Join(root, framework, "lib/python3.12/lib-dynload/_ssl.so"): filepath.Join(root, "opt/openssl@3/lib/libssl.3.dylib"),
	} {
		if err := os.WriteFile(path, []byte(machO(amd64, command{loadDylib, needs})), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	library := filepath.Join(root, "opt/python@3.12/Frameworks/Python.framework/Versions/3.12/lib/python3.12")
	return root, &interpreter{executable: executable, version: "3.12", library: []string{library, filepath.Join(library, "lib-dynload")}}
}

func TestALayoutOpensTheInstallationAndNothingBesideIt(t *testing.T) {
	root, python := homebrew(t)
	l, err := newLayout(python)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.readableByUs(); err != nil {
		t.Error(err)
	}
	scratch := filepath.Join(tree(t, map[string]string{"scratch/x": ""}), "scratch")
	text, definitions, err := l.profile(scratch)
	if err != nil {
		t.Fatal(err)
	}
	profile, err := seatbelttest.Read(text, definitions)
	if err != nil {
		t.Fatal(err)
	}
	const framework = "Cellar/python@3.12/3.12.7/Frameworks/Python.framework/Versions/3.12/"
	for _, c := range []struct {
		operation, path string
		want            bool
	}{
		{"process-exec", framework + "Resources/Python.app/Contents/MacOS/Python", true},
		{"file-read-data", framework + "Resources/Python.app/Contents/Info.plist", true},
		{"file-map-executable", framework + "Python", true},
		{"file-read-data", framework + "lib/python3.12/os.py", true},
		{"file-map-executable", framework + "lib/python3.12/lib-dynload/_ssl.so", true},
		{"file-map-executable", "Cellar/openssl@3/3.4.0/lib/libssl.3.dylib", true},
		{"file-read-metadata", "opt/openssl@3", true},
		{"file-read-metadata", "opt/python@3.12", true},
		{"file-read-metadata", "Cellar", true},
		{"file-read-metadata", framework + "lib", true},
		{"file-test-existence", framework + "Resources/Python.app/Contents/MacOS/pyvenv.cfg", true},
		{"file-read-data", "Cellar", false},
		{"file-read-data", "opt", false},
		{"file-read-data", framework + "lib/python3.12/site-packages/mine/key", false},
		{"file-read-metadata", "etc", false},
		{"file-test-existence", "etc/secret", false},
		{"file-read-data", "etc/secret", false},
		{"process-exec", framework + "Python", false},
	} {
		got, err := profile.Allows(seatbelttest.Attempt{Operation: c.operation, Path: filepath.Join(root, c.path)})
		if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%s of %s: allowed is %v", c.operation, c.path, got)
		}
	}
	for _, path := range []string{filepath.Dir(scratch), filepath.Dir(root)} {
		if ok, err := profile.Allows(seatbelttest.Attempt{Operation: "file-read-metadata", Path: path}); err != nil || !ok {
			t.Errorf("%s on the way cannot be seen (%v)", path, err)
		}
	}
}

func TestSandboxesOfOneLayoutDifferInTheirScratchFolderOnly(t *testing.T) {
	_, python := homebrew(t)
	l, err := newLayout(python)
	if err != nil {
		t.Fatal(err)
	}
	steps := slices.Clone(l.paths.Steps)
	root := tree(t, map[string]string{"a/x": "", "b/x": ""})
	first, _, err := l.profile(filepath.Join(root, "a"))
	if err != nil {
		t.Fatal(err)
	}
	second, definitions, err := l.profile(filepath.Join(root, "b"))
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Error("the profiles differ")
	}
	if slices.ContainsFunc(definitions, func(d string) bool { return strings.HasSuffix(d, root+"/a") }) {
		t.Errorf("the second knows the first's scratch folder: %q", definitions)
	}
	if !slices.Equal(l.paths.Steps, steps) {
		t.Error("a sandbox left a step behind")
	}
}

func TestALibraryThatHoldsMoreThanPythonIsRefused(t *testing.T) {
	root, python := homebrew(t)
	t.Setenv("HOME", filepath.Join(root, "opt"))
	python.library = []string{root}
	if _, err := newLayout(python); err == nil || !strings.Contains(err.Error(), root) {
		t.Errorf("got %v", err)
	}
	python.library = []string{"/"}
	if _, err := newLayout(python); err == nil {
		t.Error("the root folder was accepted")
	}
	python.library = []string{filepath.Join(root, "nowhere")}
	if _, err := newLayout(python); err == nil {
		t.Error("a library that does not exist was accepted")
	}
}
