//go:build linux

package escape

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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
	// runsPerServer is after how many runs, about, a server is killed, and
	// restartEvery after how many the engine is restarted.
	runsPerServer = 20
	restartEvery  = 30
)

// A storm is what befalls the runs of one kind of sandbox.
type storm struct {
	config string // file
	// killSandbox kills what a sandbox of a server consists of.
	killSandbox func(pid int)
	// restartEngine is nil where there is none of the test's own.
	restartEngine func()
	// leftovers lists what a server has left.
	leftovers func(t *testing.T, pid int) []string
}

// TestNothingIsLeftAfterSuddenDeaths runs program after program while their
// sandboxes, and ptc-mcp itself, are killed at random; in the soak, the engine
// is restarted as well. What a killed ptc-mcp leaves, the next one must sweep.
func TestNothingIsLeftAfterSuddenDeaths(t *testing.T) {
	t.Run("docker", func(t *testing.T) {
		t.Parallel()
		image, s := dockertest.Require(t), storm{config: filepath.Join(t.TempDir(), "config.yaml")}
		docker, host := (*client.Client)(nil), ""
		if os.Getenv(soakEngine) == "1" {
			own := newEngine(t, image)
			docker, host = own.client, fmt.Sprintf("  host: %q\n", own.host)
			s.restartEngine = func() { own.terminate(); own.start() }
			t.Cleanup(func() {
				if shims := own.shims(); len(shims) > 0 {
					t.Errorf("the engine still has containers: processes %v", shims)
				}
			})
		} else {
			docker = dockerClient(t)
		}
		write(t, s.config, fmt.Sprintf("execution:\n  sandbox: docker\ndocker:\n%s  image: %s\n  pull: never\n", host, image))
		s.killSandbox = func(pid int) { killContainer(t, docker, pid) }
		s.leftovers = func(t *testing.T, pid int) []string { return containers(t, docker, pid) }
		s.rage(t)
	})
	t.Run("native", func(t *testing.T) {
		t.Parallel()
		s := storm{config: filepath.Join(t.TempDir(), "config.yaml")}
		write(t, s.config, "execution:\n  sandbox: native\n")
		s.killSandbox = func(pid int) { killSupervisor(t, pid) }
		s.leftovers = func(t *testing.T, pid int) []string {
			return slices.Concat(cgroups(t, pid), supervisors(t, pid), orphans(t))
		}
		s.rage(t)
	})
}

func (s storm) rage(t *testing.T) {
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
	folder := t.TempDir()
	temporary := "TMPDIR=" + folder
	for left := runs; left > 0; {
		server := startServer(t, s.config, temporary)
		pids = append(pids, server.pid())
		share := min(left, runsPerServer)
		left -= share
		s.over(server, share, random, &count)
	}
	// The next start sweeps, and works as if nothing had happened.
	last := startServer(t, s.config, temporary)
	pids = append(pids, last.pid())
	if text, failed, answered := last.run("print(6 * 7)"); failed || !answered || !strings.Contains(text, "42") {
		t.Errorf("after it all, a run gives %q", text)
	}
	for _, pid := range pids[:len(pids)-1] {
		waitUntilNone(t, func(t *testing.T) []string { return s.leftovers(t, pid) })
	}
	last.stop(t)
	waitUntilNone(t, func(t *testing.T) []string { return s.leftovers(t, last.pid()) })
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", files, err)
	}

	t.Logf("%d runs ended well, %d failed, %d were lost with their server, of %d servers; the engine was restarted %d times",
		count.well, count.failed, count.lost, len(pids), count.restarts)
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
	restarts           int
	strange            []string
}

// clear are the words of an answer about a killed sandbox.
var clear = []string{"was ended by SIGKILL", "was ended by SIGTERM", "the sandbox is gone", "was not run", "ended with exit code"}

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

// over makes runs of one server, kills some of its sandboxes, and then the
// server with the rest.
func (s storm) over(server *server, runs int, random *rand.Rand, count *tally) {
	tickets := make(chan struct{}, runs)
	for range runs {
		tickets <- struct{}{}
	}
	close(tickets)
	answers := make(chan struct{})
	var working sync.WaitGroup
	for range atOnce {
		working.Go(func() {
			for range tickets {
				count.add(server.run("import time\ntime.sleep(0.1)\nprint('ready')"))
				answers <- struct{}{}
			}
		})
	}
	// After each answer but the last few a sandbox may be killed, or the engine
	// restarted; what is under way at the end is lost with the server.
	for range runs - atOnce/2 {
		<-answers
		if random.IntN(4) == 0 {
			s.killSandbox(server.pid())
		}
		if s.restartEngine != nil && random.IntN(restartEvery) == 0 {
			s.restartEngine()
			count.restarts++
		}
	}
	working.Go(server.kill)
	go func() {
		working.Wait()
		close(answers)
	}()
	for range answers { // whoever is still at work
	}
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
