package unconfined

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// interpreter is a Python that was tried.
type interpreter struct {
	path    string
	version string
}

// lookTimeout bounds the trial: version switchers that stand in for python3
// can take a second.
const lookTimeout = 15 * time.Second

// ask makes the interpreter say where it really is, since python3 may be a
// version switcher that needs the user's environment, and whether it is new
// enough.
const ask = `import sys
print(sys.executable)
print("%d.%d.%d" % sys.version_info[:3])
print("ok" if sys.version_info >= (3, 9) else "old")`

func findInterpreter(ctx context.Context, configured string) (*interpreter, error) {
	name := cmp.Or(configured, "python3")
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, unusable(name, err)
	}
	limited, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	answer, err := exec.CommandContext(limited, path, "-I", "-S", "-c", ask).Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("unconfined: look for python: %w", ctx.Err())
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return nil, unusable(path, err)
	}
	lines := strings.Fields(strings.ReplaceAll(string(answer), " ", "\x00"))
	if len(lines) != 3 {
		return nil, unusable(path, fmt.Errorf("it answered %q", answer))
	}
	found := &interpreter{path: strings.ReplaceAll(lines[0], "\x00", " "), version: lines[1]}
	if lines[2] != "ok" {
		return nil, unusable(path, fmt.Errorf("it is Python %s", found.version))
	}
	return found, nil
}

func unusable(name string, err error) error {
	return fmt.Errorf("unconfined: cannot use %s: %w; install Python 3.9 or newer, or set python.path to one: %w", name, err, sandbox.ErrUnavailable)
}
