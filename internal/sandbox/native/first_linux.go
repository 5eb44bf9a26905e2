package native

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// A first is the first process of a sandbox. With it, all others end.
type first interface {
	// kill kills it, and is no error when it has ended.
	kill() error
	// wait blocks until it and all others have ended, and says how it did. It
	// is called once.
	wait() (syscall.WaitStatus, error)
}

// A startedFirst is a supervisor, a child of this process.
type startedFirst struct{ *exec.Cmd }

func (f startedFirst) kill() error {
	if err := f.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (f startedFirst) wait() (syscall.WaitStatus, error) {
	err := f.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	status, _ := f.ProcessState.Sys().(syscall.WaitStatus)
	return status, nil
}

// A forkedFirst is a child of a zygote, of which this process has a handle.
type forkedFirst struct{ handle *os.File }

// killedStatus is the wait status of a process that SIGKILL ended. Only its
// parent is told; but whose first process ends without a word was killed.
const killedStatus = syscall.WaitStatus(unix.SIGKILL)

func (f forkedFirst) kill() error {
	conn, err := f.handle.SyscallConn()
	if err != nil {
		return err
	}
	killErr := error(unix.ESRCH) // also when wait has closed the handle
	_ = conn.Control(func(fd uintptr) {
		killErr = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0)
	})
	if errors.Is(killErr, unix.ESRCH) {
		return nil
	}
	return killErr
}

func (f forkedFirst) wait() (syscall.WaitStatus, error) {
	defer func() { _ = f.handle.Close() }()
	conn, err := f.handle.SyscallConn()
	if err != nil {
		return 0, err
	}
	// A handle becomes readable when its process has ended, and that of a first
	// process ends after all others.
	err = conn.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	})
	return killedStatus, err
}
