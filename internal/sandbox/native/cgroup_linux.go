package native

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// The controllers that bound a sandbox.
const (
	memoryController = "memory"
	pidsController   = "pids"
	cpuController    = "cpu"
)

// A hierarchy is a folder below which cgroups with some controllers can be
// made.
type hierarchy struct {
	dir         string
	unified     bool // version 2
	controllers []string
}

// hierarchies are all that are usable here; a machine may have one controller
// in version 1 and another in version 2, or none at all.
type hierarchies []hierarchy

// findHierarchies looks for writable cgroups around this process: its own in
// version 1; in version 2 the nearest, upwards, that can hand controllers to
// its children, since one with processes in it cannot.
func findHierarchies() hierarchies {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	var found hierarchies
	for _, m := range cgroupMounts(string(mounts), string(own)) {
		if m.unified {
			if h, ok := delegated(m); ok {
				found = append(found, h)
			}
		} else if unix.Access(m.own, unix.W_OK) == nil {
			found = append(found, hierarchy{dir: m.own, controllers: m.controllers})
		}
	}
	return found
}

// A cgroupMount is a mounted hierarchy, and this process's folder in it.
type cgroupMount struct {
	top, own    string
	unified     bool
	controllers []string // of version 1
}

// cgroupMounts reads /proc/self/mountinfo and /proc/self/cgroup.
func cgroupMounts(mountinfo, own string) []cgroupMount {
	paths := map[string]string{} // by controller; "" is version 2
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, controller := range strings.Split(parts[1], ",") {
			paths[controller] = parts[2]
		}
	}
	wanted := []string{memoryController, pidsController, cpuController}
	var mounts []cgroupMount
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields, types := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(types) < 3 {
			continue
		}
		m := cgroupMount{top: fields[4]}
		key := ""
		switch types[0] {
		case "cgroup2":
			m.unified = true
		case "cgroup":
			for _, option := range strings.Split(types[2], ",") {
				if slices.Contains(wanted, option) {
					m.controllers = append(m.controllers, option)
					key = option
				}
			}
			if key == "" {
				continue
			}
		default:
			continue
		}
		path, ok := paths[key]
		if !ok {
			continue
		}
		// The mount shows the hierarchy from its root field down.
		if rel, err := filepath.Rel(fields[3], path); err == nil && filepath.IsLocal(rel) {
			m.own = filepath.Join(m.top, rel)
			mounts = append(mounts, m)
		}
	}
	return mounts
}

// delegated finds the nearest folder of a version 2 hierarchy, from this
// process's own upwards, that this process may make limited children in.
func delegated(m cgroupMount) (hierarchy, bool) {
	for dir := m.own; strings.HasPrefix(dir, m.top); dir = filepath.Dir(dir) {
		if unix.Access(dir, unix.W_OK) != nil || unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil {
			continue
		}
		h := hierarchy{dir: dir, unified: true}
		for _, controller := range []string{memoryController, pidsController, cpuController} {
			if !lists(filepath.Join(dir, "cgroup.controllers"), controller) {
				continue
			}
			control := filepath.Join(dir, "cgroup.subtree_control")
			if !lists(control, controller) {
				// Refused while the folder itself holds processes.
				_ = os.WriteFile(control, []byte("+"+controller), 0)
			}
			if lists(control, controller) {
				h.controllers = append(h.controllers, controller)
			}
		}
		if len(h.controllers) > 0 {
			return h, true
		}
	}
	return hierarchy{}, false
}

// lists says whether a file of words holds one.
func lists(path, word string) bool {
	text, err := os.ReadFile(path)
	return err == nil && slices.Contains(strings.Fields(string(text)), word)
}

// bounds says whether one of the hierarchies has a controller.
func (hs hierarchies) bounds(controller string) bool {
	return slices.ContainsFunc(hs, func(h hierarchy) bool { return slices.Contains(h.controllers, controller) })
}

// versions names the cgroup versions a controller is taken from, for people.
func (hs hierarchies) version(controller string) string {
	for _, h := range hs {
		if slices.Contains(h.controllers, controller) {
			if h.unified {
				return "cgroup v2"
			}
			return "cgroup v1"
		}
	}
	return ""
}

// A group is the cgroup of one sandbox: a folder in each hierarchy.
type group struct {
	members []member
}

type member struct {
	hierarchy
	path string
}

// create makes the folders of one sandbox and sets its limits.
func (hs hierarchies) create(name string, spec sandbox.Spec) (*group, error) {
	g := &group{}
	for _, h := range hs {
		m := member{hierarchy: h, path: filepath.Join(h.dir, name)}
		if err := os.Mkdir(m.path, 0o755); err != nil {
			g.remove(nil)
			return nil, fmt.Errorf("cgroup: %w", err)
		}
		g.members = append(g.members, m)
		if err := m.limit(spec); err != nil {
			g.remove(nil)
			return nil, fmt.Errorf("cgroup: %w", err)
		}
	}
	return g, nil
}

// cpuPeriod is the interval over which the processor share is counted, in
// microseconds; the kernel's own default.
const cpuPeriod = 100_000

func (m member) limit(spec sandbox.Spec) error {
	memory := strconv.FormatInt(spec.MemoryBytes, 10)
	processes := strconv.Itoa(spec.Processes)
	quota := strconv.Itoa(max(1000, int(spec.CPUs*cpuPeriod))) // 1 ms is the kernel's minimum
	for _, controller := range m.controllers {
		var err error
		switch {
		case controller == memoryController && m.unified:
			err = errors.Join(m.write("memory.max", memory), m.writeIfThere("memory.swap.max", "0"))
		case controller == memoryController:
			err = errors.Join(m.write("memory.limit_in_bytes", memory), m.writeIfThere("memory.memsw.limit_in_bytes", memory))
		case controller == pidsController:
			err = m.write("pids.max", processes)
		case controller == cpuController && m.unified:
			err = m.write("cpu.max", quota+" "+strconv.Itoa(cpuPeriod))
		case controller == cpuController:
			err = errors.Join(m.write("cpu.cfs_period_us", strconv.Itoa(cpuPeriod)), m.write("cpu.cfs_quota_us", quota))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m member) write(file, value string) error {
	return os.WriteFile(filepath.Join(m.path, file), []byte(value), 0)
}

// writeIfThere sets what only some kernels have: swap accounting may be off.
func (m member) writeIfThere(file, value string) error {
	if err := m.write(file, value); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
		return err
	}
	return nil
}

// doors opens the files that let processes in. Who may pass is decided by who
// opened them, so the supervisor, with no rights of its own, can let the runner
// in. Moving waits for the kernel (some milliseconds), and happens there while
// Python boots.
func (g *group) doors() ([]*os.File, error) {
	var doors []*os.File
	for _, m := range g.members {
		door, err := os.OpenFile(filepath.Join(m.path, "cgroup.procs"), os.O_WRONLY, 0)
		if err != nil {
			for _, opened := range doors {
				_ = opened.Close()
			}
			return nil, fmt.Errorf("cgroup: %w", err)
		}
		doors = append(doors, door)
	}
	return doors, nil
}

// outOfMemory says whether the kernel has killed a process for memory.
func (g *group) outOfMemory() bool {
	for _, m := range g.members {
		if !slices.Contains(m.controllers, memoryController) {
			continue
		}
		file := "memory.oom_control"
		if m.unified {
			file = "memory.events"
		}
		text, err := os.ReadFile(filepath.Join(m.path, file))
		if err != nil {
			return false
		}
		for line := range strings.Lines(string(text)) {
			if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == "oom_kill" && value != "0" {
				return true
			}
		}
	}
	return false
}

// remove deletes the folders. The kernel refuses for a moment after the last
// process has gone.
func (g *group) remove(logger *slog.Logger) {
	for _, m := range g.members {
		err := os.Remove(m.path)
		for range 50 {
			if !errors.Is(err, unix.EBUSY) {
				break
			}
			time.Sleep(10 * time.Millisecond)
			err = os.Remove(m.path)
		}
		if err != nil && logger != nil {
			logger.Warn("cgroup not removed; the next start tries again", "path", m.path, "error", err)
		}
	}
}

// groupPrefix starts the names of this project's cgroups.
const groupPrefix = "ptc-mcp."

// owner identifies this process among all that ever made such cgroups: its pid
// namespace, its pid there and its start time.
func owner() string {
	return fmt.Sprintf("%s%s.%d.%s", groupPrefix, pidNamespace(), os.Getpid(), startTime(os.Getpid()))
}

// sweep removes what processes that are gone left behind. Their sandboxes died
// with them, so the folders are empty; the kernel refuses to remove others.
func (hs hierarchies) sweep() {
	for _, h := range hs {
		entries, err := os.ReadDir(h.dir)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			parts := strings.Split(entry.Name(), ".")
			if len(parts) != 5 || parts[0]+"." != groupPrefix || parts[1] != pidNamespace() {
				continue
			}
			if pid, err := strconv.Atoi(parts[2]); err == nil && startTime(pid) != parts[3] {
				_ = os.Remove(filepath.Join(h.dir, entry.Name()))
			}
		}
	}
}

// pidNamespace is the inode number of this process's pid namespace.
func pidNamespace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "0"
	}
	return strings.Trim(link, "pid:[]")
}

// startTime is when a process started, in clock ticks since boot, or "".
func startTime(pid int) string {
	file, err := os.Open(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	line, _ := bufio.NewReader(file).ReadString('\n')
	// The name, field 2, may hold anything, even ")".
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(fields) < 20 {
		return ""
	}
	return fields[19] // field 22 of proc_pid_stat(5)
}
