//go:build linux

package escape

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker/dockertest"
)

// soakRuns replaces the number of runs, for `make soak`.
const soakRuns = "PTC_MCP_SOAK_RUNS"

const (
	chaosRuns = 60
	// atOnce is how many runs a server has under way.
	atOnce = 4
	// runsPerServer is after how many runs, about, a server is killed.
	runsPerServer = 20
)

// TestNothingIsLeftAfterSuddenDeaths runs program after program while their
// sandboxes, and ptc-mcp itself, are killed at random. What a killed ptc-mcp
// leaves, the next one must sweep.
func TestNothingIsLeftAfterSuddenDeaths(t *testing.T) {
	t.Run("docker", func(t *testing.T) {
		t.Parallel()
		image, engine := dockertest.Require(t), dockerClient(t)
		config := filepath.Join(t.TempDir(), "config.yaml")
		write(t, config, fmt.Sprintf("execution:\n  sandbox: docker\ndocker:\n  image: %s\n  pull: never\n", image))
		chaos(t, config, func(pid int) { killContainer(t, engine, pid) }, func(t *testing.T, pid int) []string {
			return containers(t, engine, pid)
		})
	})
	t.Run("native", func(t *testing.T) {
		t.Parallel()
		config := filepath.Join(t.TempDir(), "config.yaml")
		write(t, config, "execution:\n  sandbox: native\n")
		chaos(t, config, func(pid int) { killSupervisor(t, pid) }, func(t *testing.T, pid int) []string {
			return append(cgroups(t, pid), supervisors(t, pid)...)
		})
	})
}

func chaos(t *testing.T, config string, killSandbox func(pid int), leftovers func(t *testing.T, pid int) []string) {
	runs := chaosRuns
	if text := os.Getenv(soakRuns); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	var count tally
	var pids []int
	for left := runs; left > 0; {
		s := startServer(t, config)
		pids = append(pids, s.pid())
		share := min(left, runsPerServer)
		left -= share
		stormed(s, share, random, &count, killSandbox)
	}
	// The next start sweeps, and works as if nothing had happened.
	last := startServer(t, config)
	pids = append(pids, last.pid())
	if text, failed, answered := last.run("print(6 * 7)"); failed || !answered || !strings.Contains(text, "42") {
		t.Errorf("after it all, a run gives %q", text)
	}
	for _, pid := range pids[:len(pids)-1] {
		waitUntilNone(t, func(t *testing.T) []string { return leftovers(t, pid) })
	}
	last.stop(t)
	waitUntilNone(t, func(t *testing.T) []string { return leftovers(t, last.pid()) })

	t.Logf("%d runs ended well, %d failed, %d were lost with their server, of %d servers", count.well, count.failed, count.lost, len(pids))
	if count.well == 0 || count.lost == 0 {
		t.Errorf("no chaos: %d runs ended well, %d were lost", count.well, count.lost)
	}
	for _, text := range count.strange {
		t.Errorf("a run failed without a clear word: %q", text)
	}
}

// tally counts how runs ended.
type tally struct {
	mu                 sync.Mutex
	well, failed, lost int
	strange            []string
}

// clear are the words of an answer about a killed sandbox.
var clear = []string{"was ended by SIGKILL", "the sandbox is gone", "was not run", "ended with exit code"}

func (c *tally) add(text string, failed, answered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !answered:
		c.lost++
	case !failed && strings.Contains(text, "ready"):
		c.well++
	default:
		c.failed++
		for _, words := range clear {
			if strings.Contains(text, words) {
				return
			}
		}
		c.strange = append(c.strange, text)
	}
}

// stormed makes runs of one server, kills some of its sandboxes, and then the
// server with the rest.
func stormed(s *server, runs int, random *rand.Rand, count *tally, killSandbox func(pid int)) {
	tickets := make(chan struct{}, runs)
	for range runs {
		tickets <- struct{}{}
	}
	close(tickets)
	answers := make(chan struct{}, runs)
	var working sync.WaitGroup
	for range atOnce {
		working.Go(func() {
			for range tickets {
				count.add(s.run("import time\ntime.sleep(0.1)\nprint('ready')"))
				answers <- struct{}{}
			}
		})
	}
	// After each answer but the last few a sandbox may be killed; what is under
	// way then is lost with the server.
	for range runs - atOnce/2 {
		<-answers
		if random.IntN(4) == 0 {
			killSandbox(s.pid())
		}
	}
	s.kill()
	working.Wait()
}

// killContainer kills a running container of a server, if there is one.
func killContainer(t *testing.T, engine *client.Client, pid int) {
	for _, c := range listed(t, engine, pid) {
		if c.State == container.StateRunning {
			_ = engine.ContainerKill(t.Context(), c.ID, "KILL") // it may just have ended
			return
		}
	}
}

// killSupervisor kills a process of a run of a server: its first or the
// program's; or, now and then, the supervisor of all or the zygote.
func killSupervisor(t *testing.T, pid int) {
	victims := forked(t, pid)
	if len(victims) == 0 || rand.IntN(4) == 0 {
		victims = supervisors(t, pid)
	}
	if len(victims) > 0 && rand.IntN(2) == 0 {
		victims = append(children(t, victims[0]), victims...)
	}
	for _, victim := range victims {
		if number, err := strconv.Atoi(victim); err == nil {
			_ = syscall.Kill(number, syscall.SIGKILL) // it may just have ended
			return
		}
	}
}
