package docker_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker/dockertest"
)

// fakeSSH puts an ssh on PATH.
func fakeSSH(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Fatal("the stand-in for ssh is a shell script")
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "ssh"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestAnEngineBehindSSHRunsSandboxes(t *testing.T) {
	dockertest.Require(t)
	fakeSSH(t, `case "$*" in *"-l me -p 22 -- box docker system dial-stdio") ;; *) echo "odd arguments: $*" >&2; exit 9;; esac
`+roleVariable+"="+roleSSH+" exec "+os.Args[0]+"\n")
	backend := newBackend(t, func(c *docker.Config) { c.Host = "ssh://me@box:22" })
	runs(t, backend)
	closeBackend(t, backend)
	if left := docker.Containers(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWhatSSHSaysIsInTheError(t *testing.T) {
	fakeSSH(t, "echo 'box: Host key verification failed.' >&2\nexit 255\n")
	backend := newBackend(t, func(c *docker.Config) { c.Host = "ssh://box" })
	_, err := backend.Probe(t.Context())
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "Host key verification failed") {
		t.Errorf("got %v, want what ssh said", err)
	}
}
