package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// pullPatience is how long Probe waits for a pull that it began, because one
// that cannot succeed mostly fails at once.
const pullPatience = 2 * time.Second

// Probe looks for the engine and the image. A missing image is pulled in the
// background if the policy allows; until it is there, a warning says so.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	e, _, err := b.connect(ctx)
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	defer e.pending()() //nolint:contextcheck // one watch serves many
	type answer struct {
		info    system.Info
		version types.Version
		image   string
		err     error
	}
	answers := make(chan answer, 1)
	detached := context.WithoutCancel(ctx) // a hanging call is left behind, not waited for
	go func() {
		var a answer
		if a.info, a.err = e.client.Info(detached); a.err != nil {
			a.err = e.step("ask for the engine's properties", a.err)
		} else if a.version, a.err = e.client.ServerVersion(detached); a.err != nil {
			a.err = e.step("ask for the engine's version", a.err)
		} else {
			if engineName(a.version) == enginePodman {
				if own, err := e.askPodman(detached); err == nil {
					own.correct(&a.info)
				} else {
					b.config.Logger.Debug("limits taken from Podman's word in Docker's API", slog.Any("error", err))
				}
			}
			a.image, a.err = b.probeImage(ctx, e)
		}
		answers <- a
	}()
	select {
	case a := <-answers:
		if a.err != nil {
			return sandbox.Capabilities{}, a.err
		}
		if a.info.OSType != "linux" {
			return sandbox.Capabilities{}, fmt.Errorf("docker: the engine runs %s containers; switch it to Linux containers: %w", a.info.OSType, sandbox.ErrUnavailable)
		}
		if r := b.config.Runtime; r != "" {
			if _, known := a.info.Runtimes[r]; !known {
				return sandbox.Capabilities{}, fmt.Errorf("docker: the engine has no runtime %q; install it, or remove docker.runtime: %w", r, sandbox.ErrUnavailable)
			}
		}
		c := b.capabilities(e, a.info, a.version)
		if a.image != "" {
			c.Warnings = append(c.Warnings, a.image)
		}
		return c, nil
	case <-ctx.Done():
		return sandbox.Capabilities{}, fmt.Errorf("docker: probe: %w", ctx.Err())
	case <-e.down:
		return sandbox.Capabilities{}, e.downError()
	}
}

// probeImage returns a warning while the image is not there yet.
func (b *Backend) probeImage(ctx context.Context, e *engine) (warning string, err error) {
	_, err = e.localImage(context.WithoutCancel(ctx), b.config.Image)
	if err == nil || errors.Is(err, errLost) || !errdefs.IsNotFound(err) {
		return "", err
	}
	if b.config.Pull == PullNever {
		return "", b.imageForbidden()
	}
	p := b.startPull(e)
	if p == nil {
		return "", errClosed
	}
	patience := time.NewTimer(pullPatience)
	defer patience.Stop()
	select {
	case <-p.done:
		return "", p.err
	case <-ctx.Done():
	case <-patience.C:
	}
	return fmt.Sprintf("Image %s is being pulled (%s); the first run waits for it.", b.config.Image, b.pulls.status()), nil
}

func (b *Backend) capabilities(e *engine, info system.Info, version types.Version) sandbox.Capabilities {
	return sandbox.Capabilities{
		Description: fmt.Sprintf("%s %s (API %s, runtime %s) at %s, image %s",
			engineName(version), version.Version, e.client.ClientVersion(), b.runtimeName(info), e.endpoint.host, b.config.Image),
		Isolated: true,
		Memory:   info.MemoryLimit,
		CPUs:     info.CPUCfsQuota,
		// Threads of gVisor's own kernel count too, how many is not known.
		Processes: info.PidsLimit && !isGVisor(b.runtimeName(info)),
		// A tmpfs with a size and a number of files; but Podman takes no number,
		// and gVisor ignores it.
		Scratch: engineName(version) != enginePodman && !isGVisor(b.runtimeName(info)),
		// Each container has a file system of its own, whatever the storage
		// driver. In a user namespace the kernel lets nobody make device nodes:
		// there, containers are shown the host's.
		OwnFiles:   true,
		OwnDevices: !hasOption(info.SecurityOptions, "rootless") && !hasOption(info.SecurityOptions, "userns"),
		Warnings:   b.warnings(e, info, engineName(version)),
	}
}

func (b *Backend) runtimeName(info system.Info) string {
	if b.config.Runtime != "" {
		return b.config.Runtime
	}
	return info.DefaultRuntime
}

// warnings says what is weaker on this engine than it could be.
func (b *Backend) warnings(e *engine, info system.Info, engine string) []string {
	var list []string
	add := func(when bool, text string) {
		if when {
			list = append(list, text)
		}
	}
	rootless := hasOption(info.SecurityOptions, "rootless")
	delegate := "enable the memory, cpu and pids controllers on the engine's machine"
	if rootless {
		delegate = "delegate the memory, cpu and pids controllers to your user (systemd: Delegate=yes for user@.service)"
	}
	add(!info.MemoryLimit, "The engine cannot limit memory: a program can use all of the machine's; "+delegate+".")
	add(info.MemoryLimit && !info.SwapLimit, "The engine does not count swap: a program can use the machine's swap beyond its memory limit; boot with swapaccount=1 or use cgroup v2.")
	add(!info.CPUCfsQuota, "The engine cannot limit processor time; "+delegate+".")
	add(!info.PidsLimit, "The engine cannot limit processes: a program can fork without end; "+delegate+".")
	add(rootless && engine == enginePodman, "Podman as an ordinary user takes no limit of open files: a program can open as many as Podman itself; run Podman as root, or use a rootless Docker.")
	known := e.knownQuirks()
	if !hasOption(info.SecurityOptions, "seccomp") {
		known.filter = filterNone
	}
	return append(list, known.warnings()...)
}

// hasOption looks for a security option, which an engine gives as
// "name=seccomp,profile=default" or, before API 1.26, as "seccomp".
func hasOption(options []string, name string) bool {
	for _, option := range options {
		first, _, _ := strings.Cut(option, ",")
		if strings.TrimPrefix(first, "name=") == name {
			return true
		}
	}
	return false
}
