package docker_test

import (
	"log/slog"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker/dockertest"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
)

// newBackend returns a backend for the image under test.
func newBackend(t testing.TB, change func(*docker.Config)) *docker.Backend {
	t.Helper()
	config := docker.Config{Image: dockertest.Require(t), Runtime: dockertest.Runtime(), Pull: docker.PullNever, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&config)
	}
	backend := docker.New(config)
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Errorf("close backend: %v", err)
		}
	})
	return backend
}

func TestConformance(t *testing.T) {
	dockertest.Require(t)
	sandboxtest.Run(t, func(t *testing.T, program string) sandbox.Backend {
		backend := newBackend(t, nil)
		if program != "" {
			backend.SetProgram(program)
		}
		return backend
	}, sandboxtest.Options{
		Leftovers: func(t *testing.T) []string { return docker.Containers(t) },
	})
}
