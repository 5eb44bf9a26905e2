//go:build unix

package seatbelt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// answering is a shell script that describes itself as this interpreter.
func answering(fields ...string) string {
	return "#!/bin/sh\nprintf '" + strings.Join(fields, `\000`) + `\000'` + "\n"
}

func accept(*interpreter) error { return nil }

func TestThisMachinesPythonDescribesItself(t *testing.T) {
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("these tests need python3: %v", err)
	}
	python, err := finder{}.find(t.Context(), path, accept)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(python.executable); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the executable %s is not the file itself (%v)", python.executable, err)
	}
	if !slices.ContainsFunc(python.library, func(folder string) bool {
		_, err := os.Stat(filepath.Join(folder, "asyncio"))
		return err == nil
	}) {
		t.Errorf("its standard library is not in %q", python.library)
	}
	if slices.ContainsFunc(python.library, func(folder string) bool { return strings.Contains(folder, "site-packages") }) {
		t.Errorf("installed packages are in its library %q", python.library)
	}
}

func TestTheInstallationBehindAVirtualEnvironmentIsFound(t *testing.T) {
	base, err := finder{}.find(t.Context(), "python3", accept)
	if err != nil {
		t.Fatal(err)
	}
	venv := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.CommandContext(t.Context(), base.executable, "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	python, err := finder{}.find(t.Context(), filepath.Join(venv, "bin/python3"), accept)
	if err != nil {
		t.Fatal(err)
	}
	if python.executable != base.executable || !slices.Equal(python.library, base.library) {
		t.Errorf("got %+v, want %+v", python, base)
	}
}

// A framework's bin/python3 starts the binary in Python.app, which the profile
// must name; the real interpreter plays that binary's part here.
func TestTheApplicationInsideAFrameworkIsTaken(t *testing.T) {
	root := tree(t, map[string]string{
		"Resources/Python.app/Contents/MacOS/Python": "#!/bin/sh\n",
		"bin/python3.99": "#!/bin/sh\n",
	})
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ remove, want string }{
		{"", "Resources/Python.app/Contents/MacOS/Python"},
		{"Resources", "bin/python3.99"},
	} {
		if c.remove != "" {
			if err := os.RemoveAll(filepath.Join(root, c.remove)); err != nil {
				t.Fatal(err)
			}
		}
		program := fmt.Sprintf("import sys\nsys.version_info = (3, 99)\nsys.base_exec_prefix = %q\n", root) + describe
		out, err := exec.CommandContext(t.Context(), python, "-I", "-S", "-c", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseDescription(string(out))
		if err != nil || got.executable != filepath.Join(root, c.want) {
			t.Errorf("got %+v (%v), want %s", got, err, c.want)
		}
	}
}

func TestApplesPlaceholderIsNeverStarted(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	root := tree(t, map[string]string{
		"usr/bin/python3": "#!/bin/sh\ntouch " + started + "\n",
		"clt/python3":     answering("3.9", "/bin/sh", "/usr/lib"),
	})
	shim := filepath.Join(root, "usr/bin/python3")
	f := finder{shim: shim, developer: []string{filepath.Join(root, "xcode/python3"), filepath.Join(root, "clt/python3")}}
	if path, err := f.named(shim); err != nil || path != f.developer[1] {
		t.Errorf("named: got %s (%v), want %s", path, err, f.developer[1])
	}
	t.Setenv("PATH", filepath.Dir(shim))
	if list := f.candidates(); slices.Contains(list, shim) || !slices.Contains(list, f.developer[1]) {
		t.Errorf("candidates are %q", list)
	}
	f.developer = f.developer[:1]
	_, err := f.find(t.Context(), "python3", accept)
	if err == nil || !strings.Contains(err.Error(), "xcode-select --install") || !strings.Contains(err.Error(), "python.path") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("it was started")
	}
}

func TestInterpretersAreTriedInOrder(t *testing.T) {
	home := tree(t, map[string]string{
		".pyenv/versions/3.9.1/bin/python3":                                    "",
		".pyenv/versions/3.13.0/bin/python3":                                   "",
		".local/share/uv/python/cpython-3.12.4-macos-aarch64-none/bin/python3": "",
		"miniforge3/bin/python3":                                               "",
		"path/python3":                                                         "",
		"path/python3.11":                                                      "",
		"path/python3.14":                                                      "",
	})
	t.Setenv("PATH", filepath.Join(home, "path"))
	f := finder{home: home, developer: []string{"/clt/python3"}}
	var got []string
	for _, path := range f.candidates() {
		if name, err := filepath.Rel(home, path); err == nil && !strings.HasPrefix(name, "..") {
			got = append(got, name)
		} else {
			got = append(got, path)
		}
	}
	want := []string{
		"path/python3", "path/python3.14", "path/python3.11",
		"/opt/homebrew/bin/python3", "/usr/local/bin/python3",
		"/Library/Frameworks/Python.framework/Versions/Current/bin/python3", "/opt/miniconda3/bin/python3",
		".pyenv/versions/3.13.0/bin/python3", ".pyenv/versions/3.9.1/bin/python3",
		".local/share/uv/python/cpython-3.12.4-macos-aarch64-none/bin/python3",
		"miniforge3/bin/python3", "/clt/python3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAnUnusableInterpreterIsNamedWithTheFaultAndTheRemedy(t *testing.T) {
	root := tree(t, map[string]string{
		"old":      answering("3.8", "/bin/sh", "/usr/lib"),
		"two":      answering("2.7", "/bin/sh", "/usr/lib"),
		"relative": answering("3.12", "bin/python", "/usr/lib"),
		"other":    "#!/bin/sh\necho hello\n",
		"failing":  "#!/bin/sh\necho starting >&2\necho no such version >&2\nexit 3\n",
	})
	setuid := filepath.Join(root, "setuid")
	if err := os.WriteFile(setuid, []byte(answering("3.12", setuid, "/usr/lib")), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(setuid, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		"old": "is Python 3.8: too old", "two": "instead of describing itself", "relative": "not an absolute path",
		"other": `answers "hello\n"`, "failing": "no such version", "setuid": "setuid", "nothing": "no such file",
	} {
		_, err := finder{}.find(t.Context(), filepath.Join(root, name), accept)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "python.path") {
			t.Errorf("%s: got %v, want one that says %q and names python.path", name, err, says)
		}
	}
}

func TestTheFirstInterpreterThatPassesIsTaken(t *testing.T) {
	root := tree(t, map[string]string{"python3": answering("3.8", "/bin/sh", "/usr/lib")})
	for _, version := range []string{"3.13", "3.12"} {
		path := filepath.Join(root, "python"+version)
		if err := os.WriteFile(path, []byte(answering(version, path, "/usr/lib")), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", root)
	python, err := finder{}.find(t.Context(), "", func(p *interpreter) error {
		if p.version == "3.13" {
			return errors.New("does not work in the sandbox")
		}
		return nil
	})
	if err != nil || python.version != "3.12" {
		t.Errorf("got %+v (%v)", python, err)
	}
	tries := 0
	_, err = finder{}.find(t.Context(), "", func(*interpreter) error {
		tries++
		return &notHereError{errors.New("hopeless")}
	})
	if err == nil || tries != 1 {
		t.Errorf("after a fault that no other would mend: %d tries, %v", tries, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (finder{}).find(ctx, "", accept); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context's end: %v", err)
	}
}
