//go:build unix

package seatbelt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// minMinor is the oldest Python 3 that the runner supports.
const minMinor = 9

// interpreter is a Python installation: the base one, also where a virtual
// environment, a version switcher or a framework's launcher was named.
type interpreter struct {
	// executable is the binary itself, no link.
	executable string
	// version is "3.12".
	version string
	// library is where it looks for modules when isolated (-I -S), as far as
	// it exists, as it spells it.
	library []string
}

// describe makes an interpreter tell what it is, in fields that end with NUL.
//
// The bin/python3 of a macOS framework only starts the binary inside of
// Python.app, so that one is named where there is one. Otherwise the
// installation's own is preferred to what was started: that may be a copy in a
// virtual environment.
const describe = `
import os, sys
version = "%d.%d" % sys.version_info[:2]
base = sys.base_exec_prefix
started = getattr(sys, "_base_executable", None) or sys.executable
for binary in (os.path.join(base, "Resources", "Python.app", "Contents", "MacOS", "Python"),
               os.path.join(base, "bin", "python" + version), started):
    if os.access(binary, os.X_OK):
        break
fields = [version, os.path.realpath(binary)] + [entry for entry in sys.path if os.path.exists(entry)]
sys.stdout.write("".join(field + "\0" for field in fields))
`

// describeTimeout bounds one question; a version switcher may start a shell or
// two first.
const describeTimeout = 10 * time.Second

// finder looks for interpreters.
type finder struct {
	home string
	// shim is Apple's placeholder for python3. Without the developer tools it
	// opens a dialog that offers to install them, so it is never started:
	// the Pythons of developer stand behind it.
	shim      string
	developer []string
}

func newFinder() finder {
	home, _ := os.UserHomeDir() // without one, nothing is looked for there
	return finder{
		home: home,
		shim: "/usr/bin/python3",
		developer: []string{
			"/var/db/xcode_select_link/usr/bin/python3",
			"/Library/Developer/CommandLineTools/usr/bin/python3",
			"/Applications/Xcode.app/Contents/Developer/usr/bin/python3",
		},
	}
}

// candidates lists interpreters worth asking, best first: what the user calls
// python3, then newer versions before older ones, then where installers put
// them. A client started from the Dock has no PATH to speak of.
func (f finder) candidates() []string {
	var paths []string
	add := func(path string) {
		if path != f.shim && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	look := func(name string) {
		if path, err := exec.LookPath(name); err == nil {
			add(path)
		}
	}
	look("python3")
	for minor := 14; minor >= minMinor; minor-- {
		look("python3." + strconv.Itoa(minor))
	}
	for _, path := range []string{
		"/opt/homebrew/bin/python3", // Homebrew on Apple silicon
		"/usr/local/bin/python3",    // Homebrew on Intel, python.org
		"/Library/Frameworks/Python.framework/Versions/Current/bin/python3",
		"/opt/miniconda3/bin/python3",
	} {
		add(path)
	}
	if f.home != "" {
		for _, pattern := range []string{
			".pyenv/versions/3.*/bin/python3",
			".local/share/uv/python/cpython-3.*/bin/python3",
			"miniforge3/bin/python3", "miniconda3/bin/python3", "anaconda3/bin/python3",
		} {
			found, _ := filepath.Glob(filepath.Join(f.home, pattern)) // fails on a bad pattern only
			slices.SortStableFunc(found, func(a, b string) int { return minorIn(b) - minorIn(a) })
			for _, path := range found {
				add(path)
			}
		}
	}
	for _, path := range f.developer {
		add(path)
	}
	return paths
}

// minorIn reads the minor version out of a path such as …/3.11.7/bin/python3.
func minorIn(path string) int {
	_, after, _ := strings.Cut(filepath.Base(filepath.Dir(filepath.Dir(path))), "3.")
	end := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		after = after[:end]
	}
	minor, _ := strconv.Atoi(after)
	return minor
}

// find returns the configured interpreter, or the first candidate that check
// accepts too. Its error says what was wrong with each.
func (f finder) find(ctx context.Context, configured string, check func(*interpreter) error) (*interpreter, error) {
	paths := f.candidates()
	if configured != "" {
		path, err := f.named(configured)
		if err != nil {
			return nil, fmt.Errorf("python.path: %w", err)
		}
		paths = []string{path}
	}
	var problems []string
	for _, path := range paths {
		python, err := ask(ctx, path)
		if err == nil {
			err = check(python)
		}
		var whole *notHereError
		switch {
		case err == nil:
			return python, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &whole):
			return nil, err
		case configured != "" || python != nil || !errors.Is(err, fs.ErrNotExist):
			problems = append(problems, fmt.Sprintf("%s %v", path, err))
		}
	}
	if len(problems) == 0 {
		return nil, fmt.Errorf("no Python found; install Python 3.%d or newer (`brew install python3`, or `xcode-select --install`), or set python.path", minMinor)
	}
	return nil, fmt.Errorf("no usable Python (%s); install Python 3.%d or newer, or set python.path to one", strings.Join(problems, ", "), minMinor)
}

// notHereError is a fault that no other interpreter would mend.
type notHereError struct{ error }

// named looks a configured interpreter up.
func (f finder) named(configured string) (string, error) {
	path, err := exec.LookPath(configured)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil || path != f.shim {
		return path, err
	}
	for _, behind := range f.developer {
		if _, err := os.Stat(behind); err == nil {
			return behind, nil
		}
	}
	return "", fmt.Errorf("%s is Apple's placeholder, with no Python behind it; run `xcode-select --install`, or set python.path to another Python", path)
}

// ask runs an interpreter once, outside any sandbox, and once more by the name
// that will be used inside if that is another: the answer depends on it.
func ask(ctx context.Context, path string) (*interpreter, error) {
	python, err := askOnce(ctx, path)
	if err == nil && python.executable != path {
		python, err = askOnce(ctx, python.executable)
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(python.executable)
	if err != nil {
		return nil, err
	}
	if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return nil, fmt.Errorf("leads to %s, which changes its user (setuid)", python.executable)
	}
	return python, nil
}

func askOnce(ctx context.Context, path string) (*interpreter, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-I", "-S", "-B", "-c", describe)
	cmd.WaitDelay = time.Second
	answer, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("fails: %w: %s", err, lastLine(exit.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot be started: %w", err)
	}
	return parseDescription(string(answer))
}

func parseDescription(answer string) (*interpreter, error) {
	fields := strings.Split(answer, "\x00")
	if len(fields) < 4 { // the last is what follows the last NUL: nothing
		return nil, fmt.Errorf("answers %q instead of describing itself", answer)
	}
	python := &interpreter{version: fields[0], executable: fields[1], library: fields[2 : len(fields)-1]}
	major, minor, _ := strings.Cut(python.version, ".")
	n, err := strconv.Atoi(minor)
	if err != nil || major != "3" {
		return nil, fmt.Errorf("answers %q instead of describing itself", answer)
	}
	if n < minMinor {
		return nil, fmt.Errorf("is Python %s: too old", python.version)
	}
	for _, path := range append([]string{python.executable}, python.library...) {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("names %q, which is not an absolute path", path)
		}
	}
	return python, nil
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
