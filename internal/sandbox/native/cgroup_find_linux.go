package native

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

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
				_ = os.WriteFile(control, []byte("+"+controller), 0o644)
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
