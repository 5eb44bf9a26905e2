package native

import (
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// A rootPlan is what the supervisor needs to know to build the root, which is
// the same for every start. It comes first on the control socket, and the plan
// of the run when there is one: not on the command line or in the environment,
// which others can read.
type rootPlan struct {
	Layers []layer
	Binds  []bind
	// Devices is the descriptor of a detached folder of device nodes, where the
	// host made one; 0 means that the nodes are among the binds.
	Devices int
	Links   []link
	Masks   []string
	// Folders are made for what is mounted later.
	Folders []string
	// Requests, if not 0, is the descriptor of a zygote's requests.
	Requests int
}

// A plan is what the supervisor needs to know for one run.
type plan struct {
	Scratch scratch
	Limits  []limit
	Argv    []string
	// Filter is the system call filter.
	Filter packedFilter
	// CPUs, if not empty, are the processors to run on.
	CPUs []int
}

// A request is what a zygote's supervisor needs to know for one run. With it
// come descriptors: the streams, the control socket, a folder of device nodes
// if there is one, and those of the group.
type request struct {
	Scratch scratch
	Limits  []limit
	CPUs    []int
	Devices bool
	// Tasks is the number of files by which to enter cgroups; Group
	// is true if there is a folder of version 2.
	Tasks int
	Group bool
}

// A bind shows a file or folder of the host, read-only, in the sandbox.
type bind struct {
	Source string // resolved: no symbolic link in it
	Target string
	Dir    bool
	Device bool // a device node: its mount may not carry nodev
	// Layer is the number, from 1, of the layer that it is shown through; 0
	// means that it is shown as it is.
	Layer int
	// Tree is the descriptor of the detached mount, where the host opened it;
	// 0 means that the supervisor opens Source by itself.
	Tree int
}

// A link is a symbolic link to make in the sandbox's root.
type link struct{ Path, To string }

// scratch is the one writable folder.
type scratch struct{ Bytes, Inodes int64 }

// A limit is a resource limit, soft and hard alike, of the runner and what it
// starts.
type limit struct {
	Resource int
	Value    uint64
	// Shared is true for a limit that the supervisor's own threads use up too.
	Shared bool
	// RunnerOnly is true for a limit that the supervisor itself cannot bear; it
	// is set a moment after the runner's start.
	RunnerOnly bool
}

// A report is what the supervisor says on the control socket: first that the
// runner was started or why not, then how it ended.
type report struct {
	Kind reportKind
	// Step and Errno say what failed.
	Step  string
	Error string
	Errno int
	// Code and Signal say how the runner ended; Signal is 0 if it exited.
	Code, Signal int
}

type reportKind string

const (
	reportStarted reportKind = "started"
	reportFailed  reportKind = "failed"
	reportEnded   reportKind = "ended"
)

// scratchDir is where the program starts, and all it can write to.
const scratchDir = "/scratch"

// The supervisor knows itself by this argv[0], and finds the control socket at
// this descriptor.
const (
	supervisorName = "ptc-mcp-sandbox"
	controlFD      = 3
	firstTreeFD    = 4
)

// nobody is the user and group of the sandbox: the overflow ids, which own
// nothing.
const nobody = 65534

// rootPlan puts together what every supervisor is told.
func (s *machineState) rootPlan(zygote bool) *rootPlan {
	p := &rootPlan{Binds: slices.Clone(s.layout.binds), Links: s.layout.links, Masks: s.layout.masks}
	for _, source := range s.layout.layers {
		p.Layers = append(p.Layers, layer{Source: source})
	}
	next := firstTreeFD
	if s.user.privileged {
		// As openTrees opens them.
		for n := range p.Layers {
			p.Layers[n].Tree = next
			next++
		}
		for n := range p.Binds {
			if p.Binds[n].Layer == 0 {
				p.Binds[n].Tree = next
				next++
			}
		}
		if s.ownDevices {
			p.Devices = next
			next++
		}
	}
	if zygote {
		p.Requests = next
	}
	return p
}

// plan puts together what the supervisor of one run is told.
func (s *machineState) plan(spec sandbox.Spec, argv []string) *plan {
	p := &plan{
		Scratch: scratch{
			Bytes: spec.ScratchBytes,
			// One for each 4 KiB block: a full folder of tiny files.
			Inodes: max(64, spec.ScratchBytes/4096),
		},
		Argv:   argv,
		Filter: s.filter,
		Limits: []limit{
			{Resource: unix.RLIMIT_NOFILE, Value: uint64(spec.OpenFiles)},
			{Resource: unix.RLIMIT_CORE, Value: 0},
			{Resource: unix.RLIMIT_MEMLOCK, Value: 64 << 10},
			{Resource: unix.RLIMIT_MSGQUEUE, Value: 0},
			{Resource: unix.RLIMIT_NPROC, Value: uint64(spec.Processes), Shared: true},
		},
	}
	if !s.groups.bounds(memoryController) {
		memory := uint64(spec.MemoryBytes)
		// The address space is larger than what is used: thread stacks, arenas.
		p.Limits = append(p.Limits,
			limit{Resource: unix.RLIMIT_DATA, Value: memory, RunnerOnly: true},
			limit{Resource: unix.RLIMIT_AS, Value: 2*memory + 256<<20, RunnerOnly: true})
	}
	if !s.groups.bounds(cpuController) {
		p.CPUs = choose(int(math.Ceil(spec.CPUs)))
	}
	return p
}

// request puts together what the supervisor of a zygote is told of one run.
func (s *machineState) request(spec sandbox.Spec) *request {
	p := s.plan(spec, nil)
	return &request{Scratch: p.Scratch, Limits: p.Limits, CPUs: p.CPUs}
}

// choose picks processors at random among those this process may use; nil
// means all of them.
func choose(count int) []int {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil || allowed.Count() <= count {
		return nil
	}
	var cpus []int
	for cpu := 0; len(cpus) < allowed.Count(); cpu++ {
		if allowed.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	rand.Shuffle(len(cpus), func(i, j int) { cpus[i], cpus[j] = cpus[j], cpus[i] })
	return cpus[:count]
}
