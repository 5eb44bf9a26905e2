//go:build linux

package escape

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/attack"
	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker/dockertest"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/native"
)

// TestNoAttackEscapes runs every attack in every backend that works here. The
// backends take turns side by side, the attacks of one after each other, so
// that what is left behind is known to be the last one's.
func TestNoAttackEscapes(t *testing.T) {
	t.Run("docker", func(t *testing.T) {
		t.Parallel()
		dockertest.Require(t)
		leftovers := dockerLeftovers(t)
		t.Cleanup(func() { waitUntilNone(t, leftovers) }) // when the backend is closed
		escapeFrom(t, newDocker(t), leftovers, attack.All())
	})
	t.Run("native", func(t *testing.T) {
		t.Parallel()
		t.Run("forked", func(t *testing.T) {
			t.Cleanup(func() { waitUntilNone(t, nothingLeft) })
			escapeFrom(t, newNative(t, native.Config{}), nativeLeftovers, attack.All())
		})
		t.Run("booted", func(t *testing.T) {
			t.Cleanup(func() { waitUntilNone(t, nothingLeft) })
			escapeFrom(t, newNative(t, native.Config{NoZygote: true}), nativeLeftovers, ofEveryKind(t))
		})
	})
}

// allAttacks has every attack made on native sandboxes that boot a Python of
// their own, for `make escape`. Otherwise it is one of every kind: such
// sandboxes are made of the same parts as those that are forked.
const allAttacks = "PTC_MCP_ALL_ATTACKS"

func ofEveryKind(t *testing.T) []attack.Attack {
	t.Helper()
	chosen := []string{
		"close_everything", "credentials", "forked_leftovers", "forked_siblings", "host_files", "kill_init",
		"lock_shared_files", "memory_bomb_children", "mounts", "namespaces", "network_families", "outlive_run",
		"privileges", "proc_files", "ptrace", "runner_replaced", "starve_init", "thread_bomb", "writes",
	}
	if os.Getenv(allAttacks) != "" {
		return attack.All()
	}
	var attacks []attack.Attack
	for _, a := range attack.All() {
		if slices.Contains(chosen, a.Name) {
			attacks = append(attacks, a)
		}
	}
	if len(attacks) != len(chosen) {
		t.Fatalf("of the attacks %v, there are only %d", chosen, len(attacks))
	}
	return attacks
}

func newDocker(t *testing.T) sandbox.Backend {
	t.Helper()
	return closed(t, docker.New(docker.Config{Image: dockertest.Require(t), Runtime: dockertest.Runtime(), Pull: docker.PullNever, Logger: slog.New(slog.DiscardHandler)}))
}

func newNative(t *testing.T, config native.Config) sandbox.Backend {
	t.Helper()
	return closed(t, native.New(config))
}

func closed(t *testing.T, backend sandbox.Backend) sandbox.Backend {
	t.Cleanup(func() {
		if err := backend.(io.Closer).Close(); err != nil {
			t.Errorf("close the backend: %v", err)
		}
	})
	return backend
}

func escapeFrom(t *testing.T, backend sandbox.Backend, leftovers func(*testing.T) []string, attacks []attack.Attack) {
	is, err := backend.Probe(t.Context())
	if err != nil {
		t.Fatalf("probe: %v", err)
	}
	t.Logf("%s", is.Description)
	if !is.Isolated {
		t.Fatal("the backend does not claim to isolate")
	}
	bait := lay(t, limits())
	for _, a := range attacks {
		t.Run(a.Name, func(t *testing.T) {
			caller := &countingCaller{}
			result := a.Run(t.Context(), newExecutor(backend, caller), bait, is)
			if result.Verdict != attack.Contained && result.Verdict != attack.Unclaimed {
				t.Errorf("%s; expected: %s; seen: %s", result.Verdict, result.Expected, result.Seen)
			}
			if result.Verdict == attack.Unclaimed {
				t.Logf("%s: %s", result.Verdict, result.Seen)
			}
			for _, tried := range result.Attempts {
				judgeInside(t, a, tried)
			}
			if n := int(caller.calls.Load()); n > bait.Limits.ToolCalls {
				t.Errorf("%d calls were made of %d allowed", n, bait.Limits.ToolCalls)
			}
			waitUntilNone(t, leftovers)
		})
	}
}

func newExecutor(backend sandbox.Backend, caller executor.ToolCaller) *executor.Executor {
	l := limits()
	return executor.New(backend, caller, executor.Limits{
		Timeout:            patience,
		ToolCallTimeout:    10 * time.Second,
		MaxToolCalls:       l.ToolCalls,
		MaxConcurrentCalls: 4,
		MaxToolResultBytes: 1 << 20,
		MaxOutputBytes:     l.OutputBytes,
		MemoryBytes:        l.MemoryBytes,
		CPUs:               1,
		Processes:          l.Processes,
		ScratchBytes:       l.ScratchBytes,
		OpenFiles:          l.OpenFiles,
	}, slog.New(slog.DiscardHandler))
}

// countingCaller answers every call, and counts: it is the server that a
// program might call more often than it may.
type countingCaller struct{ calls atomic.Int32 }

func (c *countingCaller) CallTool(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	c.calls.Add(1)
	return json.RawMessage(`"answered"`), nil
}
