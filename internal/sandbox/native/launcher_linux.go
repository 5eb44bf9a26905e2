package native

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A launcher is a thread that lives in some cgroups of version 1, so that what
// it starts is born there. Moving a process in afterwards makes the kernel wait
// for all processors, about 10 ms, and that on the way to the first byte; the
// thread is moved beforehand.
//
// It must outlive what it starts: a parent-death signal is sent when the thread
// ends, not the process.
type launcher struct {
	jobs chan func()
}

// newLauncher makes the thread and moves it, by the cgroups' tasks files.
func newLauncher(tasks []string) (*launcher, error) {
	l := &launcher{jobs: make(chan func())}
	moved := make(chan error, 1)
	settled := make(chan struct{})
	go l.live(tasks, moved, settled)
	<-settled
	if err := <-moved; err != nil {
		return nil, err
	}
	return l, nil
}

// live is the thread. It closes settled once it has one of its own.
func (l *launcher) live(tasks []string, moved chan<- error, settled chan<- struct{}) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		// The process's first thread never ends, and the memory of the whole
		// process counts where it is. While it is held here, the next try gets
		// another.
		next := make(chan struct{})
		go l.live(tasks, moved, next)
		<-next
		close(settled)
		runtime.UnlockOSThread()
		return
	}
	close(settled)
	// Never unlocked: the thread ends with the goroutine.
	for _, file := range tasks {
		// 0 is this thread: the kernel need not wait for anybody.
		if err := os.WriteFile(file, []byte("0"), 0o644); err != nil {
			moved <- err
			return
		}
	}
	moved <- nil
	for job := range l.jobs {
		job()
	}
}

// run runs a function on the thread.
func (l *launcher) run(f func() error) error {
	done := make(chan error, 1)
	l.jobs <- func() { done <- f() }
	return <-done
}

// end ends the thread.
func (l *launcher) end() { close(l.jobs) }
