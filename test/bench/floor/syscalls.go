package floor

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed probe/probe.c
var probeCode []byte

// Syscalls are probes written in C, so that no runtime is in their figures.
type Syscalls struct{ binary string }

// ErrNoCompiler means that the machine has no C compiler.
var ErrNoCompiler = errors.New("no C compiler (gcc, cc or clang) to build the probe with")

// NewSyscalls compiles the probe into dir.
func NewSyscalls(ctx context.Context, dir string) (*Syscalls, error) {
	source, binary := filepath.Join(dir, "probe.c"), filepath.Join(dir, "probe")
	if err := os.WriteFile(source, probeCode, 0o600); err != nil {
		return nil, err
	}
	for _, compiler := range []string{"gcc", "cc", "clang"} {
		if _, err := exec.LookPath(compiler); err != nil {
			continue
		}
		if out, err := exec.CommandContext(ctx, compiler, "-O2", "-Wall", "-o", binary, source).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", compiler, err, out)
		}
		return &Syscalls{binary}, nil
	}
	return nil, ErrNoCompiler
}

// Rounds returns the milliseconds of each of n rounds of a probe: "fork",
// "exec" with a command, "namespaces" or "pipe".
func (s *Syscalls) Rounds(ctx context.Context, what string, n int, command ...string) ([]float64, error) {
	cmd := exec.CommandContext(ctx, s.binary, append([]string{what, strconv.Itoa(n)}, command...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("probe %s: %w: %s", what, err, strings.TrimSpace(stderr.String()))
	}
	var rounds []float64
	for _, line := range strings.Fields(string(out)) {
		ns, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return nil, fmt.Errorf("probe %s: %w", what, err)
		}
		rounds = append(rounds, ns/1e6)
	}
	return rounds, nil
}
