package downstream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	// A server has politeTime to end by itself once its input is closed, and
	// again once it is told to terminate.
	politeTime = 500 * time.Millisecond
	// stderrGrace is how long the rest of standard error is waited for.
	stderrGrace = 100 * time.Millisecond
)

// process is a server's process with everything it starts.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *lastLines
	// exited is closed when the process has ended and been reaped.
	exited chan struct{}
	tree   tree // kills what the process started

	errPipe  *os.File
	errDone  chan struct{}
	stopOnce sync.Once
}

// startProcess starts a server in a process group of its own, with its standard
// error going to stderr.
func startProcess(config Config, stderr *lastLines) (*process, error) {
	if info, err := os.Stat(config.Cwd); config.Cwd != "" && (err != nil || !info.IsDir()) {
		return nil, fmt.Errorf("command %q: its folder (cwd) %s is not there", config.Command, config.Cwd)
	}
	path, err := lookCommand(config.Command, config.Cwd, config.Env)
	if err != nil {
		return nil, fmt.Errorf("command %q: %w (give its full path, or set PATH in the server's env)", config.Command, errors.Unwrap(err))
	}
	cmd := exec.Command(path, config.Args...) //nolint:noctx // ended by stop, as a whole tree
	cmd.Env = Environment(config.Env)
	cmd.Dir = config.Cwd
	cmd.SysProcAttr = processAttributes()

	var files []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
			files = append(files, r, w)
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	if err == nil {
		// Plain files, so that Wait returns when the process ends, whoever
		// still holds the other ends.
		cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
		err = cmd.Start()
	}
	if err != nil {
		for _, f := range files {
			f.Close()
		}
		return nil, fmt.Errorf("command %q: %w", config.Command, err)
	}
	inR.Close()
	outW.Close()
	errW.Close()

	p := &process{
		cmd: cmd, stdin: inW, stdout: outR, errPipe: errR,
		stderr: stderr, exited: make(chan struct{}), errDone: make(chan struct{}),
	}
	p.tree.attach(cmd.Process.Pid)
	go func() {
		defer close(p.errDone)
		_, _ = io.Copy(p.stderr, errR)
	}()
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // its error is in ProcessState
		select {
		case <-p.errDone:
		case <-time.After(stderrGrace):
		}
	}()
	return p, nil
}

// exitError describes the end of a process that has exited.
func (p *process) exitError() error {
	text := "server process ended: " + p.cmd.ProcessState.String()
	if line := lastLine(p.stderr.String()); line != "" {
		text += ": " + line
	}
	return errors.New(text)
}

// stop ends the process and everything it started: first politely, as the
// protocol asks, then by force. It returns when all is gone, after one second
// at most for a process that can be killed.
func (p *process) stop() {
	p.stopOnce.Do(func() {
		p.tree.remember()
		p.stdin.Close()
		if p.running(politeTime) {
			p.tree.remember()
			p.tree.terminate()
			if p.running(politeTime) {
				p.tree.remember()
			}
		}
		p.tree.kill()
		p.running(politeTime)
		p.tree.release()
		p.stdout.Close()
		p.errPipe.Close()
		<-p.errDone
	})
}

// running reports whether the process still runs after d; it returns as soon
// as it does not.
func (p *process) running(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return false
	case <-timer.C:
		return true
	}
}
