package docker_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
)

// The roles that this test binary plays when it starts itself again.
const (
	roleVariable = "PTC_MCP_TEST_ROLE"
	roleOwner    = "owner" // starts a sandbox and waits to be killed
	roleSSH      = "ssh"   // is the ssh command, with the engine at the other end
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleVariable) {
	case roleOwner:
		err = playOwner()
	case roleSSH:
		err = playSSH()
	default:
		code := m.Run()
		if err := goleak.Find(); code == 0 && err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func playOwner() error {
	backend := docker.New(docker.Config{Image: os.Getenv("PTC_MCP_TEST_IMAGE"), Pull: docker.PullNever, Logger: slog.New(slog.DiscardHandler)})
	// Deaf to the end of its input, as a hostile program is.
	backend.SetProgram("import os, time\nos.write(1, b'ready')\ntime.sleep(10000)")
	instance, err := backend.Start(context.Background(), sandbox.Spec{})
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(instance.Channel(), make([]byte, len("ready"))); err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// engineSocket is where the engine that is tested with listens.
func engineSocket() string {
	if path, local := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); local {
		return path
	}
	return "/var/run/docker.sock"
}

// playSSH joins its standard streams to the engine, as `docker system
// dial-stdio` does behind ssh.
func playSSH() error {
	engine, err := net.Dial("unix", engineSocket())
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(engine, os.Stdin)
		_ = engine.(*net.UnixConn).CloseWrite()
	}()
	_, err = io.Copy(os.Stdout, engine)
	return err
}
