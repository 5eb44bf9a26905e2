//go:build linux

package escape

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/client"
	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker/dockertest"
)

// soakEngine asks for the test below, which starts an engine of its own beside
// the one in use. That takes root, and some hundred megabytes of disk.
const soakEngine = "PTC_MCP_SOAK_DOCKERD"

// TestNothingIsLeftWhenTheEngineIsRestarted stops dockerd with programs under
// way, and starts it again; the last time it is killed.
func TestNothingIsLeftWhenTheEngineIsRestarted(t *testing.T) {
	if os.Getenv(soakEngine) != "1" {
		return // a part of the soak only
	}
	d := newEngine(t, dockertest.Require(t))
	config := filepath.Join(t.TempDir(), "config.yaml")
	write(t, config, fmt.Sprintf("execution:\n  sandbox: docker\ndocker:\n  host: %q\n  image: %s\n  pull: never\n", d.host, d.image))
	s := startServer(t, config)
	const rounds = 3
	for round := range rounds {
		if text, failed, answered := s.run("print(6 * 7)"); failed || !answered {
			t.Fatalf("round %d: a run gives %q", round, text)
		}
		var running sync.WaitGroup
		for range atOnce {
			running.Go(func() {
				if text, failed, answered := s.run("import time\nprint('started', flush=True)\ntime.sleep(600)"); !failed || !answered {
					t.Errorf("a run whose engine was killed gives %q", text)
				}
			})
		}
		waitUntilNone(t, func(t *testing.T) []string {
			if n := len(listed(t, d.client, s.pid())); n < atOnce {
				return []string{fmt.Sprintf("%d of %d runs to wait for", atOnce-n, atOnce)}
			}
			return nil
		})
		last := round == rounds-1
		if last {
			d.kill()
		} else {
			d.terminate()
		}
		running.Wait()
		d.start()
		if !last {
			waitUntilNone(t, func(t *testing.T) []string {
				if shims := d.shims(); len(shims) > 0 {
					return []string{fmt.Sprintf("processes %v of sandboxes", shims)}
				}
				return nil
			})
		}
	}
	if text, failed, answered := s.run("print(6 * 7)"); failed || !answered {
		t.Errorf("after it all, a run gives %q", text)
	}
	s.stop(t)
	next := startServer(t, config)
	if text, failed, answered := next.run("print(6 * 7)"); failed || !answered {
		t.Errorf("after another start, a run gives %q", text)
	}
	waitUntilNone(t, func(t *testing.T) []string { return containers(t, d.client, s.pid()) })
	next.stop(t)
	waitUntilNone(t, func(t *testing.T) []string { return containers(t, d.client, next.pid()) })
}

// engine is a dockerd of the test's own, with nothing of the machine's network.
type engine struct {
	t            *testing.T
	folder, host string
	image        string
	client       *client.Client
	command      *exec.Cmd
}

func newEngine(t *testing.T, image string) *engine {
	t.Helper()
	folder, err := os.MkdirTemp("", "dockerd")
	if err != nil {
		t.Fatal(err)
	}
	d := &engine{t: t, folder: folder, host: "unix://" + filepath.Join(folder, "s"), image: image}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if d.client, err = client.NewClientWithOpts(client.WithHost(d.host), client.WithAPIVersionNegotiation()); err != nil {
		t.Fatal(err)
	}
	d.start()
	t.Cleanup(d.stop)
	saved, err := dockerClient(t).ImageSave(t.Context(), []string{image})
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	loaded, err := d.client.ImageLoad(t.Context(), saved)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Body.Close()
	if _, err := io.Copy(io.Discard, loaded.Body); err != nil { // the end means that it is there
		t.Fatal(err)
	}
	return d
}

// start starts dockerd and waits until it answers.
func (d *engine) start() {
	d.t.Helper()
	in := func(name string) string { return filepath.Join(d.folder, name) }
	// A killed engine takes its containerd along, and leaves both numbers,
	// which it would wait for in vain.
	for _, stale := range []string{"pid", "exec/containerd/containerd.pid"} {
		_ = os.Remove(in(stale)) // there at a restart only
	}
	d.command = exec.Command("dockerd", "--host", d.host, "--data-root", in("data"), "--exec-root", in("exec"), "--pidfile", in("pid"),
		"--bridge", "none", "--iptables=false", "--ip-forward=false")
	// Without a bridge, dockerd removes the docker0 it finds: another engine's.
	d.command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	log, err := os.OpenFile(in("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close()
	d.command.Stdout, d.command.Stderr = log, log
	if err := d.command.Start(); err != nil {
		d.t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	for {
		if _, err := d.client.Ping(d.t.Context()); err == nil {
			return
		} else if time.Now().After(deadline) {
			text, _ := os.ReadFile(in("log"))
			d.t.Fatalf("dockerd does not answer: %v\n%s", err, text)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// kill is kill -9 of dockerd; the containers live on.
func (d *engine) kill() {
	_ = d.command.Process.Kill()
	_ = d.command.Wait()
}

// terminate ends dockerd in an orderly way, its containerd with it.
func (d *engine) terminate() {
	_ = d.command.Process.Signal(syscall.SIGTERM)
	if err := d.command.Wait(); err != nil {
		d.t.Logf("dockerd: %v", err)
	}
}

// stop takes the engine away. One that was killed may have forgotten
// containers that still ran, which no client can then find or end: engines of
// version 20.10 do.
func (d *engine) stop() {
	d.terminate()
	_ = d.client.Close()
	for _, pid := range d.shims() {
		d.t.Logf("the killed engine has forgotten a container, process %d", pid)
		_ = syscall.Kill(-pid, syscall.SIGKILL) // a shim leads a group
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = unix.Unmount(filepath.Join(d.folder, "data"), unix.MNT_DETACH)
}

// shims are the keepers of the engine's containers, one for each that runs.
func (d *engine) shims() []int {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		d.t.Fatal(err)
	}
	var pids []int
	for _, path := range commands {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "containerd-shim") || !strings.Contains(string(text), d.folder) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
