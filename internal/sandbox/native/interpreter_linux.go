package native

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

// An interpreter is a Python installation: the base one, also where a virtual
// environment or a shim was named.
type interpreter struct {
	// Executable is the binary itself, no link.
	Executable string
	// Version is "3.11".
	Version string
	// Library is what it searches for modules when isolated (-I -S): folders
	// and zip files that exist, as it spells them.
	Library []string
	// Zones is the folder of the time zone database, or "".
	Zones string
}

// describe makes an interpreter tell what it is; it prints one field a line.
// An installation's own executable, if it has the usual name, is preferred to
// what was started: that may be a copy in a virtual environment.
const describe = `
import os, sys
print("%d.%d" % sys.version_info[:2])
own = os.path.join(sys.base_exec_prefix, "bin", "python%d.%d" % sys.version_info[:2])
started = getattr(sys, "_base_executable", None) or sys.executable
print(os.path.realpath(own if os.access(own, os.X_OK) else started))
zones = "/usr/share/zoneinfo"
if not os.path.isdir(zones):
    import sysconfig
    zones = (sysconfig.get_config_var("TZPATH") or "").split(os.pathsep)
    zones = next((z for z in zones if os.path.isdir(z)), "")
print(zones)
for entry in sys.path:
    if os.path.exists(entry):
        print(entry)
`

// describeTimeout bounds one question; a shim may start a shell or two first.
const describeTimeout = 10 * time.Second

// candidates lists interpreters worth asking, best first: what the user calls
// python3, then newer versions before older ones.
func candidates() []string {
	var paths []string
	add := func(path string) {
		if !slices.Contains(paths, path) {
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
	add("/usr/bin/python3")
	add("/usr/local/bin/python3")
	home, err := os.UserHomeDir()
	if err != nil {
		return paths
	}
	for _, pattern := range []string{
		filepath.Join(pyenvRoot(home), "versions/3.*/bin/python3"),
		filepath.Join(home, ".local/share/uv/python/cpython-3.*/bin/python3"),
	} {
		found, _ := filepath.Glob(pattern) // fails on a bad pattern only
		slices.SortFunc(found, func(a, b string) int { return minorIn(b) - minorIn(a) })
		for _, path := range found {
			add(path)
		}
	}
	return paths
}

func pyenvRoot(home string) string {
	if root := os.Getenv("PYENV_ROOT"); root != "" {
		return root
	}
	return filepath.Join(home, ".pyenv")
}

// minorIn reads the minor version out of a path such as …/3.11.7/bin/python3.
func minorIn(path string) int {
	_, after, _ := strings.Cut(filepath.Base(filepath.Dir(filepath.Dir(path))), "3.")
	digits, _, _ := strings.Cut(after, ".")
	minor, _ := strconv.Atoi(digits)
	return minor
}

// findInterpreter returns the configured interpreter, or the first candidate
// that check accepts too. Its error says what was wrong with each.
func findInterpreter(ctx context.Context, configured string, check func(*interpreter) error) (*interpreter, error) {
	paths := candidates()
	if configured != "" {
		path, err := exec.LookPath(configured)
		if err != nil {
			return nil, fmt.Errorf("python.path: %w", err)
		}
		paths = []string{path}
	}
	var problems []error
	for _, path := range paths {
		python, err := ask(ctx, path)
		if err == nil {
			err = check(python)
		}
		if err == nil {
			return python, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, errForbidden) {
			return nil, err
		}
		if configured != "" || !errors.Is(err, fs.ErrNotExist) || python != nil {
			problems = append(problems, fmt.Errorf("%s: %w", path, err))
		}
	}
	if len(problems) == 0 {
		return nil, fmt.Errorf("no Python found: install Python 3.%d or newer, or set python.path", minMinor)
	}
	return nil, fmt.Errorf("no usable Python (3.%d or newer; set python.path to choose one): %w", minMinor, errors.Join(problems...))
}

// ask runs an interpreter once, outside any sandbox, and once more by the name
// that will be used inside if that is another: the answer depends on it.
func ask(ctx context.Context, path string) (*interpreter, error) {
	python, err := askOnce(ctx, path)
	if err != nil || python.Executable == path {
		return python, err
	}
	return askOnce(ctx, python.Executable)
}

func askOnce(ctx context.Context, path string) (*interpreter, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-I", "-S", "-B", "-c", describe)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("%w: %s", err, lastLine(exit.Stderr))
	}
	if err != nil {
		return nil, err
	}
	return parseDescription(string(out))
}

func parseDescription(out string) (*interpreter, error) {
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	if len(lines) < 4 {
		return nil, fmt.Errorf("answered %q instead of describing itself", out)
	}
	python := &interpreter{Version: lines[0], Executable: lines[1], Zones: lines[2], Library: lines[3:]}
	major, minor, _ := strings.Cut(python.Version, ".")
	if n, err := strconv.Atoi(minor); err != nil || major != "3" || n < minMinor {
		return nil, fmt.Errorf("is Python %s: too old", python.Version)
	}
	for _, path := range append([]string{python.Executable}, python.Library...) {
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
