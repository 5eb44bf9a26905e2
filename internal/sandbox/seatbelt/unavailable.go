//go:build !unix

package seatbelt

import (
	"context"
	"fmt"
	"runtime"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

type backend struct{}

// New returns a backend that is unavailable.
func New(Config) sandbox.Backend { return backend{} }

func (backend) Name() string { return name }

func (backend) Probe(context.Context) (sandbox.Capabilities, error) {
	return sandbox.Capabilities{}, errNotMac()
}

func (backend) Start(context.Context, sandbox.Spec) (sandbox.Instance, error) {
	return nil, errNotMac()
}

func errNotMac() error {
	return fmt.Errorf("seatbelt: needs macOS, this is %s; use docker: %w", runtime.GOOS, sandbox.ErrUnavailable)
}
