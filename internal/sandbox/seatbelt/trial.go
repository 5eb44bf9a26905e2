//go:build unix

package seatbelt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// trial is the program that a first sandbox has to pass before any other is
// started: it does what most programs do, and then tries what none may do. Apple
// documents neither the profile's language nor when it changes, so the profile
// is never taken at its word. What succeeds is printed, and at the end "done".
//
// An attempt is refused with EPERM or EACCES; any other error means that it got
// through to what it tried. None would change anything.
const trial = `
import asyncio, errno, json, os, socket, sys, threading
asyncio.new_event_loop().close()
thread = threading.Thread(target=os.uname)
thread.start()
thread.join()
with open("note", "w") as file:
    file.write("x")
os.remove("note")

def forbidden(what, attempt, *arguments):
    try:
        attempt(*arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            return
    print(what, flush=True)

def fork():
    if os.fork() == 0:
        os._exit(0)
    os.wait()

def connect(family, address):
    with socket.socket(family) as s:
        s.settimeout(1)
        s.connect(address)

library = os.__file__
mode = os.stat(library).st_mode & 0o777
forbidden("reads /etc/passwd", open, "/etc/passwd")
forbidden("sees /bin/sh", os.stat, "/bin/sh")
forbidden("lists /usr", os.listdir, "/usr")
forbidden("writes beside its scratch folder", open, "../note", "w")
forbidden("changes its interpreter", os.chmod, library, mode)
forbidden("gives its interpreter a second name", os.link, library, "os.py")
forbidden("forks", fork)
forbidden("sends signals to other processes", os.kill, os.getppid(), 0)
forbidden("connects to the network", connect, socket.AF_INET, ("127.0.0.1", 9))
forbidden("connects to unix sockets", connect, socket.AF_UNIX, "/var/run/syslog")
forbidden("starts other programs", os.execv, "/bin/echo", ["echo", "starts other programs"])
print("done", flush=True)
`

// trialTimeout bounds the trial: a process that hangs is not contained, it is
// stuck.
const trialTimeout = 30 * time.Second

// try starts an interpreter in a sandbox and runs the trial in it. A
// *notHereError means that no interpreter would do better.
func (b *backend) try(ctx context.Context, python *interpreter) (*machine, error) {
	layout, err := newLayout(python)
	if err == nil {
		err = layout.readableByUs()
	}
	if err != nil {
		return nil, err
	}
	state := &machine{python: python, layout: layout}
	instance, err := b.launch(state, withDefaults(sandbox.Spec{}),
		[]string{python.executable, "-I", "-S", "-B", "-c", b.trial})
	if err != nil {
		return nil, &notHereError{err}
	}
	defer func() { _ = instance.Close() }()
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = instance.Close() })
	defer stop()
	var printed, complaint bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&printed, instance.Channel()) })
	reading.Go(func() { _, _ = io.Copy(&complaint, instance.Output()) })
	reading.Wait()
	status, err := instance.Wait()
	if err != nil {
		return nil, err
	}
	return state, verdict(status, printed.String(), complaint.String())
}

// verdict judges a trial.
func verdict(status sandbox.ExitStatus, printed, complaint string) error {
	if strings.Contains(complaint, "sandbox_apply: Operation not permitted") {
		return &notHereError{errors.New("macOS puts no sandbox into another, and ptc-mcp runs in one itself; start it outside of that, or use docker")}
	}
	succeeded := strings.Split(strings.TrimSpace(printed), "\n")
	last := len(succeeded) - 1
	done := succeeded[last] == "done"
	if done {
		succeeded = succeeded[:last]
	}
	switch {
	case len(succeeded) > 0 && succeeded[0] != "":
		return &notHereError{fmt.Errorf("the profile does not hold on this system (a program in it %s); use docker", strings.Join(succeeded, ", "))}
	case status.Reason != sandbox.Exited || status.Code != 0 || !done:
		return fmt.Errorf("does not work in the sandbox: %s, code %d %s: %s", status.Reason, status.Code, status.Signal, lastLine([]byte(complaint)))
	}
	return nil
}
