//go:build unix

package seatbelt

import (
	"fmt"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// Limits for fields of a Spec that are zero.
const (
	defaultMemory    = 256 << 20
	defaultScratch   = 64 << 20
	defaultOpenFiles = 256
)

// entryBytes is how much of the scratch limit one file or folder stands for,
// however small: a program that makes empty files without end fills a disk too.
const entryBytes = 4096

// cpuSeconds is the processor time after which a sandbox ends by itself. A run
// is bounded by the clock, from outside; this is for a program that is busy
// when ptc-mcp dies and so never sees the end of its input.
const cpuSeconds = 3600

func withDefaults(spec sandbox.Spec) sandbox.Spec {
	if spec.MemoryBytes == 0 {
		spec.MemoryBytes = defaultMemory
	}
	if spec.ScratchBytes == 0 {
		spec.ScratchBytes = defaultScratch
	}
	if spec.OpenFiles == 0 {
		spec.OpenFiles = defaultOpenFiles
	}
	return spec
}

// prelude is Python source that sets the limits the kernel keeps, soft and hard,
// so that nothing after it can raise them. None of processes: macOS counts all
// of the user's, and no threads; the profile allows one.
func prelude(spec sandbox.Spec) string {
	return fmt.Sprintf(`import resource
for kind, most in (("CORE", 0), ("CPU", %d), ("FSIZE", %d), ("NOFILE", %d)):
    kind = getattr(resource, "RLIMIT_" + kind)
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))
del kind, most, hard, resource
`, cpuSeconds, spec.ScratchBytes, spec.OpenFiles)
}

// limited puts the prelude before the program of an interpreter's command line,
// its last argument.
func limited(argv []string, spec sandbox.Spec) []string {
	last := len(argv) - 1
	return append(argv[:last:last], prelude(spec)+argv[last])
}
