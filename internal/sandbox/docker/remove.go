package docker

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

const (
	// removeTimeout bounds a removal; a kill takes 40 ms (measured).
	removeTimeout = 30 * time.Second
	// removeTries is how often an engine is asked that refuses, and removePause
	// how long the first pause in between is; each is twice as long as the one
	// before, 6 seconds in all.
	removeTries = 6
	removePause = 200 * time.Millisecond
)

// remove kills and removes a container. When the engine is gone, the removal
// is owed, and made up for when an engine is found again.
func (b *Backend) remove(e *engine, name string) {
	b.removals <- struct{}{}
	defer func() { <-b.removals }()
	e = b.engineOrOwe(e, name)
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	var err error
	for try := range removeTries {
		err = e.client.ContainerRemove(ctx, name, container.RemoveOptions{Force: true, RemoveVolumes: true})
		if err == nil || errdefs.IsNotFound(err) || errdefs.IsConflict(err) && strings.Contains(err.Error(), "in progress") {
			return // or being removed already
		}
		if isLost(err) || try == removeTries-1 {
			break
		}
		// Podman refuses while a container is on its way from one state to the next.
		select {
		case <-time.After(removePause << try):
		case <-ctx.Done():
		}
	}
	if isLost(err) {
		e.fail(err)
	}
	b.config.Logger.Warn("container not removed; tried again when an engine is found",
		slog.String("container", name), slog.Any("error", err))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owed[name] = true
}

// engineOrOwe returns the engine to remove a container with: the one it is on,
// or the one that took its place. Without any, the removal is owed.
func (b *Backend) engineOrOwe(e *engine, name string) *engine {
	if !e.isDown() {
		return e
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current != nil && !b.current.isDown() {
		return b.current
	}
	b.owed[name] = true
	return nil
}

// otherBootAge is how old a container of an earlier boot must be. Machines made
// from one picture look the same, and may share an engine.
const otherBootAge = time.Hour

// sweep removes what this process owes, and what processes of this machine
// that are dead left behind.
func (b *Backend) sweep(e *engine) {
	b.mu.Lock()
	owed := b.owed
	b.owed = map[string]bool{}
	b.mu.Unlock()
	for name := range owed {
		b.remove(e, name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	found, err := e.client.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelOwned+"=1"))})
	if err != nil {
		b.config.Logger.Warn("leftover containers not looked for", slog.Any("error", err))
		return
	}
	for _, c := range found {
		switch self().judge(c.Labels, processStarted) {
		case ownerDead:
		case ownerOfOtherBoot:
			if c.State == container.StateRunning || time.Since(time.Unix(c.Created, 0)) < otherBootAge {
				continue
			}
		case ownerUnknown:
			continue
		}
		b.config.Logger.Info("removing a container that a dead process left", slog.String("container", c.ID), slog.String("pid", c.Labels[labelPID]))
		b.remove(e, c.ID)
	}
}
