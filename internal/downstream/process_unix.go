//go:build unix

package downstream

import (
	"sync"
	"syscall"
)

// processAttributes gives the process a group of its own, so that a Ctrl-C in
// our terminal does not reach it and the group can be signalled as a whole.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// tree is a process, its group, and those of its descendants that have left
// the group (setsid) and could be found while their parents lived.
type tree struct {
	pid    int
	mu     sync.Mutex
	strays map[int]uint64 // pid → start time, against reuse of the pid
}

func (t *tree) attach(pid int) {
	t.pid = pid
	t.strays = make(map[int]uint64)
}

// remember notes the current descendants. Once a parent has ended, its
// children can no longer be told from anybody else's.
func (t *tree) remember() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for pid, started := range descendants(t.pid) {
		t.strays[pid] = started
	}
}

func (t *tree) terminate() { t.signal(syscall.SIGTERM) }
func (t *tree) kill()      { t.signal(syscall.SIGKILL) }
func (t *tree) release()   {}

func (t *tree) signal(sig syscall.Signal) {
	// The group outlives its leader while it has members, and its number is
	// not given to another process as long.
	_ = syscall.Kill(-t.pid, sig)
	t.mu.Lock()
	defer t.mu.Unlock()
	for pid, started := range t.strays {
		if startTime(pid) == started {
			_ = syscall.Kill(pid, sig)
		}
	}
}
