package native

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// findHierarchies looks for writable cgroups around this process: its own in
// version 1; in version 2 one, upwards, that can hand controllers to its
// children, since one with processes in it cannot.
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

// delegated finds the folder of a version 2 hierarchy that this process may make
// limited children in: from its own upwards, the nearest of those that offer
// most controllers. Where there is none, its own is vacated for that.
func delegated(m cgroupMount) (hierarchy, bool) {
	var best hierarchy
	for dir := m.own; strings.HasPrefix(dir, m.top); dir = filepath.Dir(dir) {
		if !delegates(dir) || !isRootCgroup(dir) && len(members(dir)) > 0 {
			continue
		}
		if c := offered(dir); len(c) > len(best.controllers) {
			best = hierarchy{dir: dir, unified: true, controllers: c}
		}
	}
	if best.dir == "" {
		if c := offered(m.own); len(c) == 0 || !delegates(m.own) || vacate(m.own) != nil {
			return hierarchy{}, false
		}
		best = hierarchy{dir: m.own, unified: true}
	}
	best.controllers = handDown(best.dir)
	return best, len(best.controllers) > 0
}

// delegates says whether this process may make children in a folder, and move
// processes to them.
func delegates(dir string) bool {
	return unix.Access(dir, unix.W_OK) == nil && unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil
}

// isRootCgroup says whether a folder is the root of its hierarchy, which alone
// may hold processes and hand down controllers.
func isRootCgroup(dir string) bool {
	return unix.Access(filepath.Join(dir, "cgroup.type"), unix.F_OK) != nil
}

// offered are the controllers that a folder could hand down to its children.
func offered(dir string) []string {
	var all []string
	for _, controller := range []string{memoryController, pidsController, cpuController} {
		if lists(filepath.Join(dir, "cgroup.controllers"), controller) {
			all = append(all, controller)
		}
	}
	return all
}

// handDown has a folder hand down what it can, and says what it does. It must
// hold no process: the kernel would still hand down some controllers, and from
// then on let nobody into the folder's children.
func handDown(dir string) []string {
	control := filepath.Join(dir, "cgroup.subtree_control")
	var all []string
	for _, controller := range offered(dir) {
		if !lists(control, controller) {
			_ = os.WriteFile(control, []byte("+"+controller), 0o644)
		}
		if lists(control, controller) {
			all = append(all, controller)
		}
	}
	return all
}

// lists says whether a file of words holds one.
func lists(path, word string) bool {
	text, err := os.ReadFile(path)
	return err == nil && slices.Contains(strings.Fields(string(text)), word)
}
