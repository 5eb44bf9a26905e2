//go:build unix

package seatbelt

import (
	"fmt"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// How often the host looks. Python fills about 100 MB with new memory in the
// time between two looks at it; a disk takes as much in the longer time. A look
// at memory costs some microseconds, one at the scratch folder some for each
// file.
const (
	memoryInterval  = 50 * time.Millisecond
	looksPerScratch = 5
)

// watch looks after the limits that the kernel does not keep, until the sandbox
// ends, and kills it when it exceeds one.
func (i *instance) watch(spec sandbox.Spec) {
	ticker := time.NewTicker(memoryInterval)
	defer ticker.Stop()
	for look := 0; ; look++ {
		select {
		case <-i.exited:
			return
		case <-ticker.C:
		}
		if used, err := memoryUsed(i.process.Process.Pid); err == nil && used > spec.MemoryBytes {
			i.starved.Store(true)
			i.kill()
			return
		}
		if look%looksPerScratch != 0 {
			continue
		}
		most := int(max(spec.ScratchBytes/entryBytes, 1))
		if bytes, entries := i.folder.used(most); bytes > spec.ScratchBytes || entries > most {
			overflow := fmt.Errorf("seatbelt: the program was stopped: it kept more than %d MiB or %d files in its scratch folder, or a folder that cannot be looked into (execution.max_scratch_bytes)",
				spec.ScratchBytes>>20, most)
			i.overflow.Store(&overflow)
			i.kill()
			return
		}
	}
}
