// Package sandbox is the contract between a run and whatever isolates it.
//
// It owns the Backend and Instance interfaces, the limits a caller may ask
// for and the errors a backend may give. It knows no concrete backend, nothing
// of frames, tools or programs, and imports nothing internal.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// ErrUnavailable is wrapped by every error that means "this backend cannot be
// used here now". Its text says what to do about it.
var ErrUnavailable = errors.New("sandbox unavailable")

// Backend starts sandboxes of one kind. All methods may be called from many
// goroutines at once.
type Backend interface {
	// Name is the word the configuration uses: "docker", "native", "none", …
	Name() string

	// Probe looks whether the backend works here and what it can enforce,
	// without starting a sandbox. An error wraps ErrUnavailable and says what
	// to do.
	Probe(ctx context.Context) (Capabilities, error)

	// Start boots one sandbox running the Python runner and returns as soon as
	// its streams are attached; the runner's hello frame is then on its way on
	// Instance.Channel. Cancelling ctx abandons the start and leaves nothing
	// behind; it has no effect once Start has returned.
	//
	// The error wraps ErrUnavailable when no sandbox of this kind can be had.
	Start(ctx context.Context, spec Spec) (Instance, error)
}

// Instance is one booted sandbox, used for one program and thrown away.
//
// Channel and Output may share one transport: a caller reads both, at the same
// time, until they end, or closes the Instance.
type Instance interface {
	// Channel carries frames: reads come from the runner's standard output,
	// writes go to its standard input. Closing it ends the runner's input.
	Channel() io.ReadWriteCloser

	// Output is what the program printed, standard output and standard error
	// merged in order, as raw bytes. It ends when the sandbox has ended.
	Output() io.Reader

	// Wait blocks until the sandbox has ended, by itself or through Close, and
	// says how. It may be called more than once and from several goroutines.
	Wait() (ExitStatus, error)

	// Close kills whatever still runs in the sandbox, children included, and
	// removes every trace of it. It is idempotent and safe during Wait. What
	// takes time happens in the background, so that a caller never waits for a
	// removal; backends that need to finish it at exit implement io.Closer.
	Close() error
}

// Spec is what a caller may ask of a sandbox: limits, and nothing else. It has
// no field for a network, a mount or an environment, so that none can be asked
// for. A zero field means the backend's smallest sensible default.
type Spec struct {
	// MemoryBytes bounds the memory of all processes together, swap included.
	MemoryBytes int64
	// CPUs is the share of processor time, in cores (0.5 is half of one).
	CPUs float64
	// Processes bounds processes and threads together.
	Processes int
	// ScratchBytes bounds the writable scratch folder.
	ScratchBytes int64
	// OpenFiles bounds descriptors per process.
	OpenFiles int
}

// Validate reports the first limit that is negative or too small to boot
// Python in (measured: a runner with asyncio loaded needs about 10 MB).
func (s Spec) Validate() error {
	switch {
	case s.MemoryBytes != 0 && s.MemoryBytes < MinMemoryBytes:
		return fmt.Errorf("sandbox: memory limit of %d bytes is below the minimum of %d", s.MemoryBytes, MinMemoryBytes)
	case s.CPUs < 0:
		return fmt.Errorf("sandbox: negative CPU limit %g", s.CPUs)
	case s.Processes < 0:
		return fmt.Errorf("sandbox: negative process limit %d", s.Processes)
	case s.ScratchBytes < 0:
		return fmt.Errorf("sandbox: negative scratch limit %d", s.ScratchBytes)
	case s.OpenFiles < 0:
		return fmt.Errorf("sandbox: negative open file limit %d", s.OpenFiles)
	}
	return nil
}

// MinMemoryBytes is the smallest memory limit a sandbox accepts.
const MinMemoryBytes = 32 << 20

// ExitStatus says how a sandbox ended.
type ExitStatus struct {
	// Reason classifies the end.
	Reason ExitReason
	// Code is the exit code of the sandbox's first process, -1 if a signal
	// ended it.
	Code int
	// Signal is the name of the signal that ended it ("SIGSEGV"), or empty.
	Signal string
}

// ExitReason classifies the end of a sandbox.
type ExitReason int

const (
	// Exited means the first process ended by itself with a code.
	Exited ExitReason = iota
	// Signalled means a signal that the host did not send ended it.
	Signalled
	// OutOfMemory means the kernel ended it because of the memory limit.
	OutOfMemory
	// Killed means Close ended it.
	Killed
)

// String returns the reason in words.
func (r ExitReason) String() string {
	switch r {
	case Exited:
		return "exited"
	case Signalled:
		return "signalled"
	case OutOfMemory:
		return "out of memory"
	case Killed:
		return "killed"
	}
	return fmt.Sprintf("ExitReason(%d)", int(r))
}

// Capabilities says what a backend is and what it can enforce on this machine.
type Capabilities struct {
	// Description names the backend, its version and the Python in it, in one
	// line.
	Description string
	// Isolated is true when a program has no network and sees no host files.
	// Select takes only isolated backends unless the unconfined one was named.
	Isolated bool
	// Memory, CPUs, Processes and Scratch tell which limits of a Spec the host
	// enforces as a whole, not merely per process.
	Memory, CPUs, Processes, Scratch bool
	// OwnFiles and OwnDevices tell that no file, and no device node, that a
	// sandbox can open is one that another sandbox or the host can open too,
	// as far as the kernel's locks are concerned: those would be signals.
	OwnFiles, OwnDevices bool
	// Warnings are sentences, each saying what is weaker here than it could be
	// and what to do about it.
	Warnings []string
}
