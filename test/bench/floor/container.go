package floor

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
)

// Containers starts containers that are made exactly like the sandboxes of
// ptc-mcp, with a bare Python in them in place of the runner.
type Containers struct {
	api    *client.Client
	config *container.Config
	host   *container.HostConfig
}

// NewContainers copies what the engine says of a sandbox of the ptc-mcp process
// of that number. It waits until there is one.
func NewContainers(ctx context.Context, pid int) (_ *Containers, err error) {
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			api.Close()
		}
	}()
	made, err := model(ctx, api, pid)
	if err != nil {
		return nil, fmt.Errorf("a container to copy: %w", err)
	}
	// The labels of ptc-mcp would have the next one that starts remove them.
	made.Config.Labels = map[string]string{label: strconv.Itoa(os.Getpid())}
	return &Containers{api, made.Config, made.HostConfig}, sweep(ctx, api)
}

// label is on every container made here, with the number of the process.
const label = "ptc-mcp.bench"

// sweep removes what benchmarks have left that were killed.
func sweep(ctx context.Context, api *client.Client) error {
	found, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		return err
	}
	for _, c := range found {
		pid, err := strconv.Atoi(c.Labels[label])
		if err != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue // it lives, or is not known to be dead
		}
		if err := api.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true}); err != nil {
			return err
		}
	}
	return nil
}

func model(ctx context.Context, api *client.Client, pid int) (container.InspectResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	own := filters.NewArgs(filters.Arg("label", "ptc-mcp.pid="+strconv.Itoa(pid)))
	for {
		found, err := api.ContainerList(ctx, container.ListOptions{Filters: own})
		if err != nil {
			return container.InspectResponse{}, err
		}
		if len(found) > 0 {
			return api.ContainerInspect(ctx, found[0].ID)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Close ends the connection to the engine.
func (c *Containers) Close() error { return c.api.Close() }

// Engine is the engine's version, for the record.
func (c *Containers) Engine(ctx context.Context) string {
	v, err := c.api.ServerVersion(ctx)
	if err != nil {
		return err.Error()
	}
	return v.Version
}

// Start creates a container, attaches to it and starts it.
func (c *Containers) Start(ctx context.Context, code string, args ...string) (_ Process, err error) {
	config := *c.config
	config.Entrypoint = append([]string{"python3", "-I", "-S", "-B", "-c", code}, args...)
	config.Cmd = nil
	made, err := c.api.ContainerCreate(ctx, &config, c.host, nil, nil, "")
	if err != nil {
		return Process{}, err
	}
	remove := func() error {
		return c.api.ContainerRemove(context.WithoutCancel(ctx), made.ID, container.RemoveOptions{Force: true})
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	stream, err := c.api.ContainerAttach(ctx, made.ID, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return Process{}, err
	}
	if err := c.api.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		stream.Close()
		return Process{}, err
	}
	return Process{stream.Conn, &attached{in: bufio.NewReaderSize(stream.Reader, 64<<10)}, func() error {
		stream.Close()
		return remove()
	}}, nil
}

// attached is the standard output in an attach stream. The pieces have a header
// of eight bytes: the number of the stream, and the length in the last four.
type attached struct {
	in     *bufio.Reader
	left   int
	output bool // whether the piece is of the standard output
}

func (a *attached) Read(p []byte) (int, error) {
	for {
		if a.left == 0 {
			var header [8]byte
			if _, err := io.ReadFull(a.in, header[:]); err != nil {
				return 0, err
			}
			a.output, a.left = header[0] == 1, int(binary.BigEndian.Uint32(header[4:]))
			continue
		}
		if !a.output {
			n, err := a.in.Discard(a.left)
			a.left -= n
			if err != nil {
				return 0, err
			}
			continue
		}
		n, err := a.in.Read(p[:min(len(p), a.left)])
		a.left -= n
		return n, err
	}
}
