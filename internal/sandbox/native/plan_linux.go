package native

// A plan is all that the supervisor needs to know, sent to it through the
// control socket: not the command line or the environment, which others can
// read.
type plan struct {
	Binds   []bind
	Links   []link
	Masks   []string
	Scratch scratch
	Limits  []limit
	Argv    []string
	// Filter is the system call filter.
	Filter packedFilter
	// CPUs, if not empty, are the processors to run on.
	CPUs []int
}

// A bind shows a file or folder of the host, read-only, in the sandbox.
type bind struct {
	Source string // resolved: no symbolic link in it
	Target string
	Dir    bool
	Device bool // a device node: its mount may not carry nodev
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
