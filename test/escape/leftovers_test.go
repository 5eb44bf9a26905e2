//go:build linux

package escape

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
)

// waitUntilNone waits for removals that go on in the background.
func waitUntilNone(t *testing.T, leftovers func(*testing.T) []string) {
	t.Helper()
	const every = 20 * time.Millisecond
	deadline := time.Now().Add(15 * time.Second)
	for {
		left := leftovers(t)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %s", strings.Join(left, "; "))
		}
		<-time.After(every)
	}
}

// nativeLeftovers lists what this process's native sandboxes have left while
// their backend lives, which keeps one supervisor: the zygote's, or one that is
// ready for the next start.
func nativeLeftovers(t *testing.T) []string {
	t.Helper()
	var list []string
	names := map[string]bool{}
	for _, path := range cgroups(t, os.Getpid()) {
		names[filepath.Base(path)] = true
	}
	processes := supervisors(t, os.Getpid())
	if len(names) > 1 || len(processes) > 1 {
		list = slices.Concat(slices.Collect(maps.Keys(names)), processes)
	}
	for _, pid := range processes {
		for _, below := range children(t, pid) {
			if !isZygote(below) {
				list = append(list, "process "+below+" in a sandbox")
			}
			for _, run := range children(t, below) {
				list = append(list, "process "+run+" of a run")
			}
		}
	}
	return list
}

// nothingLeft fails the test for whatever a closed native backend has left.
func nothingLeft(t *testing.T) []string {
	t.Helper()
	return append(cgroups(t, os.Getpid()), supervisors(t, os.Getpid())...)
}

// cgroups lists those that a process has made, wherever they are mounted.
func cgroups(t *testing.T, pid int) []string {
	t.Helper()
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	prefix := fmt.Sprintf("ptc-mcp.%s.%d.", strings.Trim(namespace, "pid:[]"), pid)
	var list []string
	err = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), prefix) {
			list = append(list, path)
		}
		return nil // a cgroup that has just gone
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// supervisors lists the first processes of sandboxes below a process.
func supervisors(t *testing.T, pid int) []string {
	t.Helper()
	var list []string
	for _, child := range children(t, strconv.Itoa(pid)) {
		command, err := os.ReadFile("/proc/" + child + "/cmdline")
		if err == nil && strings.HasPrefix(string(command), "ptc-mcp-sandbox\x00") {
			list = append(list, child)
		}
	}
	return list
}

// orphans lists the first processes of sandboxes whose ptc-mcp is gone, so that
// init has taken them over. Another test's may be seen for the moment that it
// takes them to die.
func orphans(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pid := range supervisors(t, 1) {
		status, err := os.ReadFile("/proc/" + pid + "/status")
		if err == nil && os.Geteuid() != 0 && !strings.Contains(string(status), fmt.Sprintf("\nUid:\t%d\t", os.Geteuid())) {
			continue
		}
		list = append(list, "process "+pid+" of a sandbox without a host")
	}
	return list
}

// isZygote says whether a process is the one that runs are forked from.
func isZygote(pid string) bool {
	command, err := os.ReadFile("/proc/" + pid + "/cmdline")
	return err == nil && strings.Contains(string(command), "The zygote:")
}

// forked lists the first processes of runs of a zygote below a process.
func forked(t *testing.T, pid int) []string {
	t.Helper()
	var list []string
	for _, supervisor := range supervisors(t, pid) {
		for _, child := range children(t, supervisor) {
			list = append(list, children(t, child)...)
		}
	}
	return list
}

// children lists the processes that a process has started.
func children(t *testing.T, pid string) []string {
	t.Helper()
	tasks, err := filepath.Glob("/proc/" + pid + "/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err == nil { // else a thread that has just gone
			list = append(list, strings.Fields(string(text))...)
		}
	}
	return list
}

// dockerLeftovers lists the containers of this process.
func dockerLeftovers(t *testing.T) func(*testing.T) []string {
	t.Helper()
	engine := dockerClient(t)
	return func(t *testing.T) []string {
		t.Helper()
		return containers(t, engine, os.Getpid())
	}
}

func dockerClient(t *testing.T) *client.Client {
	t.Helper()
	engine, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	return engine
}

// containers lists those that a process has made, running or not.
func containers(t *testing.T, engine *client.Client, pid int) []string {
	t.Helper()
	var list []string
	for _, c := range listed(t, engine, pid) {
		list = append(list, "container "+c.ID[:12]+" "+c.State)
	}
	return list
}

func listed(t *testing.T, engine *client.Client, pid int) []container.Summary {
	t.Helper()
	found, err := engine.ContainerList(context.Background(), container.ListOptions{All: true, Filters: filters.NewArgs(
		filters.Arg("label", "ptc-mcp=1"),
		filters.Arg("label", fmt.Sprintf("ptc-mcp.pid=%d", pid)),
	)})
	if err != nil {
		t.Error(err)
	}
	return found
}
