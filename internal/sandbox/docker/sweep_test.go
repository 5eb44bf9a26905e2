package docker_test

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker/dockertest"
)

// owner is another process with a running sandbox.
func owner(t *testing.T, image string) *exec.Cmd {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), roleVariable+"="+roleOwner, "PTC_MCP_TEST_IMAGE="+image)
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	return command
}

func TestLeftoversOfADeadProcessAreSweptAndThoseOfALivingOneAreNot(t *testing.T) {
	image := dockertest.Require(t)
	dead, living := owner(t, image), owner(t, image)
	if err := dead.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = dead.Wait() // says that it was killed

	ofDead, ofLiving := docker.ContainersOf(t, dead.Process.Pid), docker.ContainersOf(t, living.Process.Pid)
	if len(ofDead) != 1 || len(ofLiving) != 1 {
		t.Fatalf("before: %v and %v, want a container each", ofDead, ofLiving)
	}
	backend := newBackend(t, nil)
	if _, err := backend.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	closeBackend(t, backend) // waits for the sweep
	if left := docker.ContainersOf(t, dead.Process.Pid); len(left) != 0 {
		t.Errorf("left of the dead process: %v", left)
	}
	if left := docker.ContainersOf(t, living.Process.Pid); len(left) != 1 {
		t.Errorf("left of the living process: %v, want its container", left)
	}

	if err := living.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = living.Wait()
	again := newBackend(t, nil)
	if _, err := again.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	closeBackend(t, again)
	if left := docker.ContainersOf(t, living.Process.Pid); len(left) != 0 {
		t.Errorf("left at the end: %v", left)
	}
}
