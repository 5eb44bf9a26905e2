package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Init runs the supervisor, and never returns, if the binary was started as
// one; otherwise it returns at once. It must be the first thing main does:
// nothing else may open descriptors or start threads before.
func Init() {
	if len(os.Args) != 1 || os.Args[0] != supervisorName {
		return
	}
	// Capabilities, filters and the parent-death signal belong to a thread.
	runtime.LockOSThread()
	control := os.NewFile(controlFD, "control")
	if err := supervise(control); err != nil {
		// Without a host that listens there is nobody else to tell.
		_ = json.NewEncoder(control).Encode(failure(err))
	}
	unix.Exit(0)
}

// failure is the report of an error.
func failure(err error) report {
	failed := report{Kind: reportFailed, Error: err.Error()}
	if step := (*stepError)(nil); errors.As(err, &step) {
		failed.Step = step.step
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		failed.Errno = int(errno)
	}
	return failed
}

// supervise builds the sandbox around itself, starts the runner in it and
// waits for its end. The kernel then kills what is left in the namespace.
func supervise(control *os.File) error {
	score, err := openOOMScore()
	if err != nil {
		return err
	}
	if err := detach(); err != nil {
		return err
	}
	plans := json.NewDecoder(control)
	var root rootPlan
	if err := plans.Decode(&root); err != nil {
		return fmt.Errorf("read the plan of the root: %w", err)
	}
	if root.Requests != 0 {
		return superviseZygote(control, plans, &root)
	}
	if err := buildRoot(&root); err != nil {
		return err
	}
	// Here a supervisor in reserve waits; the host's death ends the wait.
	var p plan
	if err := plans.Decode(&p); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	exitWithHost(control)
	if err := mountScratch(p.Scratch); err != nil {
		return err
	}
	if err := confine(&p); err != nil {
		return err
	}
	var runner int
	if err := score.around(func() (err error) {
		runner, err = startRunner(p.Argv)
		return err
	}); err != nil {
		return err
	}
	// Until the host hears of the start it sends no program.
	if err := bound(runner, p.Limits); err != nil {
		return err
	}
	if err := dropInput(); err != nil {
		return err
	}
	reports := json.NewEncoder(control)
	if err := reports.Encode(report{Kind: reportStarted}); err != nil {
		return fmt.Errorf("report the start: %w", err)
	}
	return reports.Encode(reap(runner))
}

// startRunner starts Python. It inherits this thread: no capability, the
// filter, the limits.
func startRunner(argv []string) (pid int, err error) {
	pid, err = syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Dir:   scratchDir,
		Env:   []string{},
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		// Not the kernel's refusal of a sandbox: this is about the interpreter.
		return 0, fmt.Errorf("start %s: %s", argv[0], err.Error())
	}
	return pid, nil
}

// detach cuts what ties the supervisor to the process that made it.
func detach() error {
	// A change of user id has cleared what the host set.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return failedStep("set the parent-death signal", err)
	}
	// The runner has the same user id: it must not trace or read this process.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return failedStep("forbid tracing", err)
	}
	// Descriptors that the host itself inherited must not reach the runner.
	if err := unix.CloseRange(controlFD, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return failedStep("mark descriptors", err)
	}
	return nil
}

// dropInput gives up the runner's input. Its outputs stay open here, so that
// they end when the whole sandbox has, after the report of how.
func dropInput() error {
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return failedStep("open /dev/null", err)
	}
	if err := unix.Dup3(null, 0, unix.O_CLOEXEC); err != nil {
		return failedStep("give up the input", err)
	}
	return unix.Close(null)
}

// exitWithHost sees to it that the sandbox ends when the host has ended,
// however it did: a parent-death signal set after the host's death would never
// come. It returns when the thread that watches exists.
func exitWithHost(control *os.File) {
	watching := make(chan struct{})
	go func() {
		close(watching)
		var b [1]byte
		for {
			if _, err := control.Read(b[:]); err != nil {
				unix.Exit(1)
			}
		}
	}()
	<-watching
}

// reap waits for the runner and collects every orphan until then; otherwise
// they would fill the process limit.
func reap(runner int) report {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return report{Kind: reportFailed, Step: "wait for the runner", Error: err.Error()}
		case pid != runner:
			continue
		case status.Signaled():
			return report{Kind: reportEnded, Code: -1, Signal: int(status.Signal())}
		case status.Exited():
			return report{Kind: reportEnded, Code: status.ExitStatus()}
		}
	}
}

// stepError says which step of the set-up the kernel refused.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

func failedStep(step string, err error) error {
	return &stepError{step: step, err: err}
}
