package native

import (
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

// A group is the cgroup of one sandbox: a folder in each hierarchy, and a
// thread in those of version 1 to start the sandbox from.
type group struct {
	members  []member
	launcher *launcher
}

type member struct {
	hierarchy
	path string
}

// create makes the folders of one sandbox, without limits yet.
func (hs hierarchies) create(name string) (*group, error) {
	g := &group{}
	for _, h := range hs {
		m := member{hierarchy: h, path: filepath.Join(h.dir, name)}
		if err := os.Mkdir(m.path, 0o755); err != nil {
			g.remove(nil)
			return nil, fmt.Errorf("cgroup: %w", err)
		}
		g.members = append(g.members, m)
	}
	return g, nil
}

// tasks lists the files by which a thread enters the folders of version 1.
func (g *group) tasks() []string {
	var files []string
	for _, m := range g.members {
		if !m.unified {
			files = append(files, filepath.Join(m.path, "tasks"))
		}
	}
	return files
}

// doors are how what a zygote forks enters: by files to write to, and a folder
// of version 2 to be born in. That takes the right to write to its cgroups,
// which a zygote whose user is not this process's lacks; it is then one of the
// files, which takes the kernel about 10 ms.
func (g *group) doors(foreign bool) (files []string, folder *os.File, err error) {
	files = g.tasks()
	if !foreign {
		folder, err = g.open()
		return files, folder, err
	}
	for _, m := range g.members {
		if m.unified {
			files = append(files, filepath.Join(m.path, "cgroup.procs"))
		}
	}
	return files, nil, nil
}

// limit sets the limits of one sandbox.
func (g *group) limit(spec sandbox.Spec) error {
	for _, m := range g.members {
		if err := m.limit(spec); err != nil {
			return fmt.Errorf("cgroup: %w", err)
		}
	}
	return nil
}

// open returns the folder of version 2, for a process to be born in; nil if
// there is none.
func (g *group) open() (*os.File, error) {
	for _, m := range g.members {
		if !m.unified {
			continue
		}
		folder, err := os.Open(m.path)
		if err != nil {
			return nil, fmt.Errorf("cgroup: %w", err)
		}
		return folder, nil
	}
	return nil, nil
}

// start runs a function that makes a process, so that it is born in the
// folders of version 1.
func (g *group) start(f func() error) error {
	tasks := g.tasks()
	if len(tasks) == 0 {
		return f()
	}
	launcher, err := newLauncher(tasks)
	if err != nil {
		return fmt.Errorf("cgroup: %w", err)
	}
	g.launcher = launcher
	return g.launcher.run(f)
}

// cpuPeriod is the interval over which the processor share is counted, in
// microseconds; the kernel's own default.
const cpuPeriod = 100_000

// spareProcesses is room for the threads of the supervisor and the launcher,
// whose number varies. The exact limit is the runner's RLIMIT_NPROC, which the
// user namespace makes per sandbox; this one holds if that should fail.
const spareProcesses = 16

func (m member) limit(spec sandbox.Spec) error {
	memory := strconv.FormatInt(spec.MemoryBytes, 10)
	processes := strconv.Itoa(spec.Processes + spareProcesses)
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
	return os.WriteFile(filepath.Join(m.path, file), []byte(value), 0o644)
}

// writeIfThere sets what only some kernels have: swap accounting may be off.
func (m member) writeIfThere(file, value string) error {
	if err := m.write(file, value); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
		return err
	}
	return nil
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

// remove deletes the folders. The kernel refuses for a while after the last
// process has gone.
func (g *group) remove(logger *slog.Logger) {
	if g.launcher != nil {
		g.launcher.end()
	}
	for _, m := range g.members {
		err := os.Remove(m.path)
		for try := 0; try < sweepTries && errors.Is(err, unix.EBUSY); try++ {
			time.Sleep(sweepEvery)
			err = os.Remove(m.path)
		}
		if err != nil && logger != nil {
			logger.Warn("cgroup not removed; the next start tries again", "path", m.path, "error", err)
		}
	}
}
