//go:build linux

package native

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// script writes an executable that answers in place of Python.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python3")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func accept(*interpreter) error { return nil }

func TestAnInterpreterIsResolvedToItsBase(t *testing.T) {
	direct, err := findInterpreter(t.Context(), "/usr/bin/python3", accept)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(direct.Executable); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%s is no plain file: %v", direct.Executable, err)
	}
	if len(direct.Library) == 0 {
		t.Error("it has no library")
	}

	// A virtual environment, as venv lays it out, by a link and by a copy.
	copied, err := os.ReadFile(direct.Executable)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"link", "copy"} {
		folder := t.TempDir()
		bin := filepath.Join(folder, "bin")
		if err := os.Mkdir(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		python := filepath.Join(bin, "python3")
		if kind == "link" {
			err = os.Symlink("/usr/bin/python3", python)
		} else {
			err = os.WriteFile(python, copied, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		settings := "home = /usr/bin\ninclude-system-site-packages = false\n"
		if err := os.WriteFile(filepath.Join(folder, "pyvenv.cfg"), []byte(settings), 0o644); err != nil {
			t.Fatal(err)
		}
		// A shim, as pyenv has them, leads to the same.
		for _, path := range []string{python, script(t, "exec "+python+` "$@"`)} {
			got, err := findInterpreter(t.Context(), path, accept)
			if err != nil {
				t.Fatal(err)
			}
			if got.Executable != direct.Executable || !slices.Equal(got.Library, direct.Library) {
				t.Errorf("by %s %s: got %+v, want %+v", kind, path, got, direct)
			}
		}
	}
}

func TestAnUnusablePythonIsExplained(t *testing.T) {
	for name, c := range map[string]struct{ path, want string }{
		"missing":  {"/nowhere/python3", "python.path"},
		"old":      {script(t, "printf '3.8\n/usr/bin/python3\n\n/usr/lib\n'"), "is Python 3.8: too old"},
		"broken":   {script(t, "echo no such luck >&2; exit 3"), "no such luck"},
		"silent":   {script(t, "exit 0"), "instead of describing itself"},
		"relative": {script(t, "printf '3.11\npython3\n\n/usr/lib\n'"), "not an absolute path"},
	} {
		if _, err := findInterpreter(t.Context(), c.path, accept); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want it to say %q", name, err, c.want)
		}
	}
}

func TestTheNextPythonIsTakenWhenOneDoesNotWork(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PYENV_ROOT", t.TempDir())
	for name, first := range map[string]string{
		"broken":        script(t, "exit 1"),
		"not in a jail": script(t, `exec /usr/bin/python3 "$@"`),
	} {
		t.Setenv("PATH", filepath.Dir(first)+":/usr/bin:/bin")
		refused := name == "broken"
		python, err := findInterpreter(t.Context(), "", func(*interpreter) error {
			if !refused {
				refused = true
				return errors.New("does not boot")
			}
			return nil
		})
		if err != nil || !strings.HasPrefix(python.Executable, "/usr/") {
			t.Errorf("%s: got %+v, %v", name, python, err)
		}
	}
}

func TestAForbiddenSandboxEndsTheSearch(t *testing.T) {
	asked := 0
	_, err := findInterpreter(t.Context(), "", func(*interpreter) error {
		asked++
		return fmt.Errorf("%w: by a test", errForbidden)
	})
	if asked != 1 || !errors.Is(err, errForbidden) {
		t.Errorf("asked %d times, got %v", asked, err)
	}
}

// Every installation on this machine that is new enough boots and can import
// its whole library.
func TestEveryPythonHereWorksInside(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range candidates() {
		python, err := ask(t.Context(), path)
		if err != nil || seen[python.Executable] {
			continue
		}
		seen[python.Executable] = true
		t.Run(python.Version+" "+filepath.Base(filepath.Dir(filepath.Dir(python.Executable))), func(t *testing.T) {
			state, err := machineOnce()
			if err != nil {
				t.Fatal(err)
			}
			own := *state
			if err := own.lay(python); err != nil {
				t.Fatal(err)
			}
			program := `
import importlib, os, sys, sysconfig
folder = os.path.join(os.path.dirname(os.__file__), "lib-dynload")
for file in sorted(os.listdir(folder)):
    name = file.split(".")[0]
    if file.endswith(".so") and name not in ("_tkinter",):
        try:
            importlib.import_module(name)
        except Exception as e:
            print(name, type(e).__name__, e)
print("done")
`
			b := newTestBackend(t, program)
			b.prepared.Store(&own)
			i, err := b.Start(t.Context(), sandbox.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = i.Close() })
			got := readAll(t, i)
			want := outsideWith(t, python.Executable, program)
			if got != want || !strings.HasSuffix(got, "done\n") {
				t.Errorf("inside: %q, outside: %q", got, want)
			}
		})
	}
	if len(seen) == 0 {
		t.Error("no Python was tried")
	}
}
