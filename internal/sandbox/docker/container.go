package docker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/go-units"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

const (
	// user is nobody's id in most images; it owns nothing there.
	user = "65534:65534"
	// scratch is where a program may write, and its working directory.
	scratch = "/scratch"
)

// The limits of a Spec that asks for none.
var smallest = sandbox.Spec{
	MemoryBytes:  256 << 20,
	CPUs:         1,
	Processes:    64,
	ScratchBytes: 16 << 20,
	OpenFiles:    256,
}

const (
	// initProcesses is what the engine's own init adds to the limit.
	initProcesses = 1
	// gvisorProcesses is what gVisor adds to it: the threads of its own kernel,
	// which are in the same cgroup. With 24 it did not start reliably.
	gvisorProcesses = 64
	// scratchBytesPerInode sets how many files fit into the scratch folder;
	// files without a size would otherwise cost kernel memory without end.
	scratchBytesPerInode = 4 << 10
	// sharedBytes is the size of /dev/shm, which locks of multiprocessing need.
	sharedBytes = 1 << 20
	// volumeBytes is the size of what covers a volume that the image declares.
	volumeBytes = 4 << 10
)

// hidden are the paths of the kernel's file systems that a program cannot
// read: the engine's usual list, and all of /sys, which describes the host.
// Giving a list replaces the engine's own.
var hidden = []string{
	"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kallsyms", "/proc/kcore",
	"/proc/keys", "/proc/latency_stats", "/proc/modules", "/proc/sched_debug",
	"/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys",
}

// readOnly is the engine's usual list.
var readOnly = []string{
	"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger",
}

// options is everything that a container depends on.
type options struct {
	image   string
	runtime string
	command []string
	labels  map[string]string
	spec    sandbox.Spec
	// volumes are the folders that the image declares as volumes.
	volumes []string
	quirks  quirks
}

// config is what runs in the container.
func (o options) config() *container.Config {
	return &container.Config{
		Image:      o.image,
		Entrypoint: o.command, // replaces the image's entry point and command
		User:       user,
		WorkingDir: scratch,
		Hostname:   "sandbox",
		Labels:     o.labels,
		// The image's variables cannot be taken away here: the runner empties
		// its environment first thing. The host's never get in.
		Env:             nil,
		NetworkDisabled: true,
		// Frames in, frames and output out; the input ends with the connection,
		// so that a container whose host died ends too.
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
		OpenStdin: true, StdinOnce: true,
		// An image's health check would start processes of its own.
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

// hostConfig is what confines it.
func (o options) hostConfig() (*container.HostConfig, error) {
	security, err := o.quirks.securityOptions()
	if err != nil {
		return nil, err
	}
	spec := o.limits()
	reaper, processes := !o.quirks.noInit, int64(spec.Processes)
	if reaper {
		processes += initProcesses
	}
	if isGVisor(o.runtime) {
		processes += gvisorProcesses
	}
	return &container.HostConfig{
		// No interface but loopback: nothing to reach, no DNS to ask.
		NetworkMode: "none",
		// Nothing of the image can be changed, nothing hidden in it.
		ReadonlyRootfs: true,
		Tmpfs:          o.tmpfs(spec),
		// Without a segment of its own: /dev/shm is among the sized ones above.
		IpcMode: "none",
		// No capability, none to be gained by a setuid binary, and the calls
		// that need none cut down to what Python uses.
		CapDrop:     []string{"ALL"},
		SecurityOpt: security,
		// The host's cgroup tree stays out of sight; engines on cgroup v1 take
		// the setting and the mask on /sys does the rest.
		CgroupnsMode:  "private",
		MaskedPaths:   hidden,
		ReadonlyPaths: readOnly,
		// Orphans are reaped, so that zombies do not fill the process limit.
		Init: &reaper,
		// Output goes to whoever is attached and nowhere else: no log on disk.
		LogConfig: container.LogConfig{Type: "none"},
		Runtime:   o.runtime,
		Resources: container.Resources{
			Memory:     spec.MemoryBytes,
			MemorySwap: spec.MemoryBytes, // memory and swap together: no swap
			NanoCPUs:   int64(spec.CPUs * 1e9),
			PidsLimit:  &processes, // fork bombs, threads included
			Ulimits: []*units.Ulimit{
				{Name: "nofile", Soft: int64(spec.OpenFiles), Hard: int64(spec.OpenFiles)},
				{Name: "core"},     // a core file holds the program's memory
				{Name: "msgqueue"}, // POSIX queues are memory of the host
			},
		},
	}, nil
}

// isGVisor tells by the name that its runtime has in most engines.
func isGVisor(runtime string) bool { return strings.HasPrefix(runtime, "runsc") }

// limits fills in what the Spec leaves open.
func (o options) limits() sandbox.Spec {
	return sandbox.Spec{
		MemoryBytes:  cmp.Or(o.spec.MemoryBytes, smallest.MemoryBytes),
		CPUs:         cmp.Or(o.spec.CPUs, smallest.CPUs),
		Processes:    cmp.Or(o.spec.Processes, smallest.Processes),
		ScratchBytes: cmp.Or(o.spec.ScratchBytes, smallest.ScratchBytes),
		OpenFiles:    cmp.Or(o.spec.OpenFiles, smallest.OpenFiles),
	}
}

// tmpfs lists every writable folder. Each has a size and a number of inodes:
// without, it would be half of the host's memory.
func (o options) tmpfs(spec sandbox.Spec) map[string]string {
	mount := func(access string, size int64, mode string) string {
		options := fmt.Sprintf("%s,nosuid,nodev,noexec,size=%d,mode=%s", access, size, mode)
		if !o.quirks.plainTmpfs {
			// The owner, because runc up to 1.1 gives the folder the mode of
			// what it covers.
			return options + fmt.Sprintf(",nr_inodes=%d,uid=65534,gid=65534", max(size/scratchBytesPerInode, 16))
		}
		return options + ",notmpcopyup" // nothing of the image's into it
	}
	mounts := map[string]string{
		scratch:    mount("rw", spec.ScratchBytes, "1777"),
		"/dev/shm": mount("rw", sharedBytes, "1777"),
	}
	// A volume that the image declares would be a writable folder of the host's
	// disk, without a limit: an empty one that nobody can write covers it. So it
	// does the folders that Podman, and gVisor, make writable in a read-only
	// container.
	covered := slices.Clone(o.volumes)
	if o.quirks.plainTmpfs || isGVisor(o.runtime) {
		covered = append(covered, "/run", "/tmp", "/var/tmp")
	}
	for _, path := range covered {
		if _, taken := mounts[path]; !taken {
			mounts[path] = mount("ro", volumeBytes, "0555")
		}
	}
	return mounts
}

// volumesOf returns the folders an image declares as volumes, sorted.
func volumesOf(declared map[string]struct{}) []string {
	return slices.Sorted(maps.Keys(declared))
}
