//go:build !linux

package native

import (
	"context"
	"fmt"
	"runtime"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// Backend is the backend of systems without Linux namespaces: never available.
type Backend struct{}

// New returns a backend that is unavailable.
func New(Config) *Backend { return &Backend{} }

// Init does nothing here.
func Init() {}

// Name returns "native".
func (*Backend) Name() string { return name }

// Probe says that this is not Linux.
func (*Backend) Probe(context.Context) (sandbox.Capabilities, error) {
	return sandbox.Capabilities{}, errNotLinux()
}

// Start says that this is not Linux.
func (*Backend) Start(context.Context, sandbox.Spec) (sandbox.Instance, error) {
	return nil, errNotLinux()
}

// Close has nothing to wait for.
func (*Backend) Close() error { return nil }

func errNotLinux() error {
	return fmt.Errorf("%w: native needs Linux, this is %s: use docker, or seatbelt on macOS", sandbox.ErrUnavailable, runtime.GOOS)
}
