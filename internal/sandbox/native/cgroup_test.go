//go:build linux

package native

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

func TestCgroupMountsAreReadFromTheKernelsTables(t *testing.T) {
	const (
		v1 = `36 31 0:33 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
33 31 0:30 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer
`
		v2        = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid    = v1 + "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
		container = "31 23 0:28 /docker/abc /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n"
	)
	memory := cgroupMount{top: "/sys/fs/cgroup/memory", own: "/sys/fs/cgroup/memory/a/b", controllers: []string{"memory"}}
	cpu := cgroupMount{top: "/sys/fs/cgroup/cpu,cpuacct", own: "/sys/fs/cgroup/cpu,cpuacct", controllers: []string{"cpu"}}
	cases := []struct {
		name, mountinfo, own string
		want                 []cgroupMount
	}{
		{"version 1", v1, "4:memory:/a/b\n1:cpu,cpuacct:/\n6:freezer:/\n", []cgroupMount{memory, cpu}},
		{"version 2", v2, "0::/user.slice/user-1000.slice/session-2.scope\n", []cgroupMount{
			{top: "/sys/fs/cgroup", own: "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope", unified: true},
		}},
		{"both", hybrid, "4:memory:/a/b\n1:cpu,cpuacct:/\n0::/c\n", []cgroupMount{memory, cpu,
			{top: "/sys/fs/cgroup/unified", own: "/sys/fs/cgroup/unified/c", unified: true},
		}},
		{"a container that sees its part", container, "4:memory:/docker/abc/d\n", []cgroupMount{
			{top: "/sys/fs/cgroup/memory", own: "/sys/fs/cgroup/memory/d", controllers: []string{"memory"}},
		}},
		{"a container that is elsewhere", container, "4:memory:/other\n", nil},
		{"nonsense", "x - cgroup\n\n", "y\n", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := cgroupMounts(c.mountinfo, c.own); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// fill writes the files of a folder that looks like a cgroup.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVersion2IsUsedWhereControllersAreHandedDown(t *testing.T) {
	const all, some = "cpu memory pids", "memory pids"
	cases := []struct {
		name              string
		top, parent, own  string // the controllers there
		inTop, inParent   string // the processes there
		want              string // the folder chosen, below the top; "-" for none
		wantedControllers []string
	}{
		{"the nearest of those that hand down most", all, all, all, "", "", "app.slice", []string{"memory", "pids", "cpu"}},
		{"more controllers are worth a way", all, some, some, "", "", "", []string{"memory", "pids", "cpu"}},
		{"the root of a hierarchy may hold processes", all, some, some, "1\n", "1\n", "", []string{"memory", "pids", "cpu"}},
		{"no other folder may", "", some, some, "", "1\n", "-", nil},
		{"there is no controller", "", "", "", "", "", "-", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			top := t.TempDir()
			parent := filepath.Join(top, "app.slice")
			own := filepath.Join(parent, "terminal.scope")
			fill(t, top, map[string]string{"cgroup.procs": c.inTop, "cgroup.controllers": c.top, "cgroup.subtree_control": c.top})
			for dir, is := range map[string][2]string{parent: {c.parent, c.inParent}, own: {c.own, "1\n"}} {
				fill(t, dir, map[string]string{"cgroup.type": "domain\n", "cgroup.procs": is[1], "cgroup.controllers": is[0], "cgroup.subtree_control": is[0]})
			}
			// Nothing is handed down from it yet.
			fill(t, own, map[string]string{"cgroup.subtree_control": ""})
			h, ok := delegated(cgroupMount{top: top, own: own, unified: true})
			want := hierarchy{dir: filepath.Join(top, c.want), unified: true, controllers: c.wantedControllers}
			if ok != (c.want != "-") || ok && !reflect.DeepEqual(h, want) {
				t.Errorf("got %+v %v, want %+v", h, ok, want)
			}
			// Some controllers the kernel would hand down from here, at the price
			// that no child of it can hold a process.
			if text, err := os.ReadFile(filepath.Join(own, "cgroup.subtree_control")); err != nil || len(text) > 0 {
				t.Errorf("a folder with processes was told to hand down %q (%v)", text, err)
			}
			if _, err := os.Stat(filepath.Join(own, vacatedFor)); err == nil {
				t.Error("a folder was vacated that others use too")
			}
		})
	}
}

func TestDescendantsAreToldFromOtherProcesses(t *testing.T) {
	child := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 1000 & echo $!; wait")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL)
		_ = child.Wait()
	})
	var grandchild int
	if _, err := fmt.Fscan(out, &grandchild); err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int]bool{
		os.Getpid(): true, child.Process.Pid: true, grandchild: true, os.Getppid(): false, 1: false, 0: false, 1 << 30: false,
	} {
		if got := descends(pid); got != want {
			t.Errorf("process %d descends from this one: %v", pid, got)
		}
	}
}

func TestLimitsAreWrittenAsEachVersionWantsThem(t *testing.T) {
	spec := sandbox.Spec{MemoryBytes: 64 << 20, CPUs: 0.5, Processes: 10}
	all := []string{memoryController, pidsController, cpuController}
	cases := map[string]struct {
		unified bool
		files   map[string]string
		want    map[string]string
	}{
		"version 2": {true, map[string]string{"memory.swap.max": ""}, map[string]string{
			"memory.max": "67108864", "memory.swap.max": "0", "pids.max": "26", "cpu.max": "50000 100000"}},
		"version 1": {false, map[string]string{"memory.memsw.limit_in_bytes": ""}, map[string]string{
			"memory.limit_in_bytes": "67108864", "memory.memsw.limit_in_bytes": "67108864", "pids.max": "26",
			"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}},
	}
	for name, c := range cases {
		m := member{hierarchy: hierarchy{unified: c.unified, controllers: all}, path: t.TempDir()}
		fill(t, m.path, c.files)
		if err := m.limit(spec); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for file, want := range c.want {
			if got, err := os.ReadFile(filepath.Join(m.path, file)); err != nil || string(got) != want {
				t.Errorf("%s: %s holds %q (%v), want %q", name, file, got, err, want)
			}
		}
	}
}

func TestOutOfMemoryIsReadFromTheKernelsCounters(t *testing.T) {
	for _, c := range []struct {
		unified bool
		file    string
		text    string
		want    bool
	}{
		{true, "memory.events", "low 0\noom 1\noom_kill 1\n", true},
		{true, "memory.events", "low 0\noom 1\noom_kill 0\n", false},
		{false, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", true},
		{false, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", false},
	} {
		m := member{hierarchy: hierarchy{unified: c.unified, controllers: []string{memoryController}}, path: t.TempDir()}
		fill(t, m.path, map[string]string{c.file: c.text})
		g := &group{members: []member{m}}
		if got := g.outOfMemory(); got != c.want {
			t.Errorf("%s %q: got %v", c.file, c.text, got)
		}
	}
}

func TestOwnersOfCgroupsAreToldApart(t *testing.T) {
	if startTime(os.Getpid()) == "" || startTime(1<<30) != "" {
		t.Error("start times do not tell processes that live from others")
	}
	dir := t.TempDir()
	own := owner()
	dead := fmt.Sprintf("%s%s.%d.%d.%x", groupPrefix, pidNamespace(), 1<<30, 1, 1)
	reused := fmt.Sprintf("%s%s.%d.%d.%x", groupPrefix, pidNamespace(), os.Getpid(), 1, 1)
	foreign := fmt.Sprintf("%s%d.%d.%d.%x", groupPrefix, 1, 1<<30, 1, 1)
	for _, name := range []string{own + ".1", dead, reused, foreign, "ptc-mcp.other", "unrelated"} {
		fill(t, filepath.Join(dir, name), nil)
	}
	hierarchies{{dir: dir}}.sweep()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	for _, name := range []string{own + ".1", foreign, "ptc-mcp.other", "unrelated"} {
		if !strings.Contains(strings.Join(left, " "), name) {
			t.Errorf("%s was removed", name)
		}
	}
	if len(left) != 4 {
		t.Errorf("left: %v", left)
	}
}

// Where the hierarchy of version 2 is writable, a sandbox is born in it.
func TestASandboxIsBornInItsCgroups(t *testing.T) {
	if os.Geteuid() != 0 {
		return // cgroups here belong to root
	}
	t.Run("forked", func(t *testing.T) { bornInCgroups(t, newTestBackend(t, stubborn), true) })
	t.Run("plain", func(t *testing.T) { bornInCgroups(t, newPlainBackend(t, stubborn), false) })
}

func bornInCgroups(t *testing.T, b *backend, wantForked bool) {
	own := *b.prepared.Load()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range cgroupMounts(string(mounts), string(paths)) {
		if m.unified && !slices.ContainsFunc(own.groups, func(h hierarchy) bool { return h.unified }) {
			own.groups = append(own.groups[:len(own.groups):len(own.groups)], hierarchy{dir: m.own, unified: true})
		}
	}
	b.prepared.Store(&own)
	i, err := b.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	if isForked(i) != wantForked {
		t.Errorf("forked: %v (%v)", isForked(i), b.zygotes.problem)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", firstPid(t, i.(*instance))))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(text), own.owner+"."); got != len(own.groups) {
		t.Errorf("it is in %d of %d cgroups: %s", got, len(own.groups), text)
	}
}
