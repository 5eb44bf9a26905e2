package docker_test

import (
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker/dockertest"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/warm/warmtest"
)

func TestSandboxesThatWaitedConform(t *testing.T) {
	dockertest.Require(t)
	warmtest.Run(t, func(t *testing.T, program string) sandbox.Backend {
		backend := newBackend(t, nil)
		if program != "" {
			backend.SetProgram(program)
		}
		return backend
	}, sandboxtest.Options{
		ParallelStarts: 8,
		Leftovers:      func(t *testing.T) []string { return docker.Containers(t) },
	})
}
