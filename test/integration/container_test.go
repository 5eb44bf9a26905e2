package integration

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	dockercontainer "github.com/docker/docker/api/types/container"
	dockerclient "github.com/docker/docker/client"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// A server in a container of its own can be frozen, killed and started again
// at the same address, as one in a cluster is (faults 3 and 4).
func TestAServerInAContainerOfItsOwn(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		remote := containerised(t)
		c := serve(t, on(t, kind).remote("t", "http", remote.url).limit("tool_call_timeout_seconds", 3).String())
		if got := c.output(`print(await mcp__t__echo(message="from a container"))`); got != "from a container\n" {
			t.Fatalf("printed %q", got)
		}

		remote.pause(t)
		got := c.output(`
try:
    await mcp__t__increment()
except TimeoutError as e:
    print(type(e).__mro__[1].__name__, e.kind)
`)
		if got != "ToolError timeout\n" {
			t.Errorf("a frozen server: printed %q", got)
		}
		remote.resume(t)

		remote.restart(t)
		eventually(t, "the catalogue is back", func() bool {
			return strings.Contains(c.callTool("list_callable_tools", nil).Text[0], "mcp__t__echo")
		})
		// The new process knows no session of the old one. A read-only call gets
		// over that by itself.
		if got := c.output(`print(await mcp__t__echo(message="after a restart"))`); got != "after a restart\n" {
			t.Errorf("printed %q", got)
		}

		if got := c.output(`
import asyncio
task = asyncio.create_task(mcp__t__sleep(seconds=60))
print("under way")
try:
    await asyncio.wait_for(task, 1)
except asyncio.TimeoutError:
    print("given up")
`); got != "under way\ngiven up\n" {
			t.Errorf("printed %q", got)
		}
	})
}

type containerisedServer struct {
	container testcontainers.Container
	engine    *dockerclient.Client
	url       string
}

// containerised runs the test server in a container that the test owns, on a
// port of the host that stays the same when it is restarted.
func containerised(t *testing.T) *containerisedServer {
	t.Helper()
	config := on(t, "docker")
	binary := filepath.Join(t.TempDir(), "ptc-testserver")
	build := exec.Command("go", "build", "-o", binary, "./test/servers/ptc-testserver")
	build.Dir, build.Env = repository, append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	port, listens := freePort(t), network.MustParsePort("8080/tcp")
	c, err := testcontainers.GenericContainer(t.Context(), testcontainers.GenericContainerRequest{
		Started: true,
		ContainerRequest: testcontainers.ContainerRequest{
			Image:        config.image,
			Files:        []testcontainers.ContainerFile{{HostFilePath: binary, ContainerFilePath: "/ptc-testserver", FileMode: 0o755}},
			Entrypoint:   []string{"/ptc-testserver", "-http", "0.0.0.0:8080", "echo"},
			ExposedPorts: []string{listens.String()},
			HostConfigModifier: func(host *container.HostConfig) {
				host.PortBindings = network.PortMap{listens: {{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(port)}}}
			},
			WaitingFor: wait.ForLog("/mcp").WithStartupTimeout(patience),
		},
	})
	testcontainers.CleanupContainer(t, c)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := dockerclient.NewClientWithOpts(dockerclient.FromEnv, dockerclient.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	return &containerisedServer{container: c, engine: engine, url: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)}
}

func (s *containerisedServer) pause(t *testing.T) {
	t.Helper()
	if err := s.engine.ContainerPause(t.Context(), s.container.GetContainerID()); err != nil {
		t.Fatal(err)
	}
	// Whatever happens, a frozen container cannot be removed.
	t.Cleanup(func() {
		_ = s.engine.ContainerUnpause(context.WithoutCancel(t.Context()), s.container.GetContainerID())
	})
}

func (s *containerisedServer) resume(t *testing.T) {
	t.Helper()
	if err := s.engine.ContainerUnpause(t.Context(), s.container.GetContainerID()); err != nil {
		t.Fatal(err)
	}
}

// restart kills the server outright and starts it again.
func (s *containerisedServer) restart(t *testing.T) {
	t.Helper()
	now := 0
	if err := s.engine.ContainerRestart(t.Context(), s.container.GetContainerID(), dockercontainer.StopOptions{Signal: "SIGKILL", Timeout: &now}); err != nil {
		t.Fatal(err)
	}
}
