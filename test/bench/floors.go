package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"
	"golang.org/x/sync/errgroup"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/native"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/unconfined"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

var quiet = slog.New(slog.DiscardHandler)

// bare is the least Python that a sandbox for programs needs: without the event
// loop no program could call a tool.
const bare = "import asyncio, json; print(1, flush=True)"

// bareStart is the time from nothing to the first byte of a bare Python in the
// same kind of place, without anything of ptc-mcp.
func bareStart(ctx context.Context, o options, kind string) (time.Duration, error) {
	if kind == "docker" {
		return bareContainer(ctx, o.image)
	}
	begin := time.Now()
	cmd := exec.CommandContext(ctx, o.python, "-I", "-S", "-B", "-c", bare)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, err = bufio.NewReader(stdout).ReadByte()
	took := time.Since(begin)
	_ = cmd.Wait()
	return took, err
}

// bareContainer creates, attaches to, starts and reads a container with the
// hardening that costs something at its start.
func bareContainer(ctx context.Context, image string) (time.Duration, error) {
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return 0, err
	}
	defer api.Close()
	if _, err := api.Ping(ctx); err != nil {
		return 0, err
	}
	pids := int64(64)
	begin := time.Now()
	made, err := api.ContainerCreate(ctx, &container.Config{
		Image: image, Cmd: []string{"python3", "-I", "-S", "-B", "-c", bare}, User: "65534:65534",
		NetworkDisabled: true, AttachStdin: true, AttachStdout: true, AttachStderr: true, OpenStdin: true, StdinOnce: true,
	}, &container.HostConfig{
		NetworkMode: "none", ReadonlyRootfs: true, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
		Tmpfs:     map[string]string{"/scratch": "rw,noexec,nosuid,nodev,size=64m"},
		LogConfig: container.LogConfig{Type: "none"},
		Resources: container.Resources{Memory: 512 << 20, MemorySwap: 512 << 20, NanoCPUs: 1e9, PidsLimit: &pids},
	}, nil, nil, "")
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = api.ContainerRemove(context.WithoutCancel(ctx), made.ID, container.RemoveOptions{Force: true})
	}()
	stream, err := api.ContainerAttach(ctx, made.ID, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return 0, err
	}
	defer stream.Close()
	if err := api.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		return 0, err
	}
	first := &firstByte{begin: begin}
	_, err = stdcopy.StdCopy(first, io.Discard, stream.Reader)
	return first.took, err
}

type firstByte struct {
	begin time.Time
	took  time.Duration
}

func (f *firstByte) Write(p []byte) (int, error) {
	if f.took == 0 {
		f.took = time.Since(f.begin)
	}
	return len(p), nil
}

// session connects to the test server as ptc-mcp does, without anything else.
func session(ctx context.Context, o options, args ...string) (*downstream.Session, error) {
	s := downstream.New(downstream.Config{
		Name: "t", Transport: "stdio", Command: o.server, Args: args,
		ConnectTimeout: time.Minute, ListTimeout: time.Minute, MaxResultBytes: 1 << 30, ClientVersion: "bench", Logger: quiet,
	})
	s.Start()
	if err := s.Connected(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// bareCalls is the time of n echo calls made from Go, at most width at once.
func bareCalls(ctx context.Context, s *downstream.Session, n, width int) (time.Duration, error) {
	arguments := json.RawMessage(`{"message":"hello"}`)
	var group errgroup.Group
	group.SetLimit(width)
	begin := time.Now()
	for range n {
		if width == 1 {
			if _, err := s.Call(ctx, "echo", arguments); err != nil {
				return 0, err
			}
			continue
		}
		group.Go(func() error {
			_, err := s.Call(ctx, "echo", arguments)
			return err
		})
	}
	err := group.Wait()
	return time.Since(begin), err
}

// bareBlob is the time of one call whose result has size bytes.
func bareBlob(ctx context.Context, s *downstream.Session, size int) (time.Duration, error) {
	begin := time.Now()
	_, err := s.Call(ctx, "blob", json.RawMessage(fmt.Sprintf(`{"size":%d}`, size)))
	return time.Since(begin), err
}

// instant answers every call at once, so that only the channel remains.
type instant struct{}

func (instant) CallTool(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`"hello"`), nil
}

// echoTable is the catalogue of the channel's floor.
var echoTable = tool.Table{Wire: json.RawMessage(`[{"n":"mcp__t__echo","s":"t","t":"echo","p":["message"],"r":["message"]}]`)}

// bareChannel runs a program whose calls are answered in memory, and returns
// the seconds it printed.
func bareChannel(ctx context.Context, o options, kind, program string, calls int) (time.Duration, error) {
	backend, err := backendOf(o, kind)
	if err != nil {
		return 0, err
	}
	if c, ok := backend.(io.Closer); ok {
		defer c.Close()
	}
	e := executor.New(backend, instant{}, executor.Limits{
		Timeout: time.Minute, ToolCallTimeout: time.Minute, MaxToolCalls: calls, MaxConcurrentCalls: width,
		MaxToolResultBytes: 1 << 20, MaxOutputBytes: 64 << 10, MemoryBytes: 512 << 20, CPUs: 1, Processes: 64, ScratchBytes: 64 << 20, OpenFiles: 256,
	}, quiet)
	outcome := e.Run(ctx, executor.Request{Source: program, Tools: echoTable})
	if !outcome.OK {
		return 0, fmt.Errorf("channel floor: %s", outcome.Error.Message)
	}
	return seconds(outcome.Output)
}

func backendOf(o options, kind string) (sandbox.Backend, error) {
	switch kind {
	case "docker":
		return docker.New(docker.Config{Image: o.image, Pull: "never", Host: os.Getenv("DOCKER_HOST"), Logger: quiet}), nil
	case "native":
		return native.New(native.Config{Python: o.python, Logger: quiet}), nil
	case "none":
		return unconfined.New(unconfined.Config{Python: o.python, Logger: quiet}), nil
	}
	return nil, fmt.Errorf("unknown sandbox %q", kind)
}
