//go:build unix

package unconfined

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// tree is the interpreter and whatever comes from it.
type tree struct {
	root   int // also its process group and session
	folder string
	pipes  []string
}

// environment is empty: the program gets nothing of the user's.
func environment(string) []string { return []string{} }

// startTree starts the command in a session of its own.
func startTree(command *exec.Cmd, folder string) (*tree, error) {
	command.SysProcAttr = processAttributes()
	t := &tree{folder: folder}
	for _, stream := range []any{command.Stdin, command.Stdout, command.Stderr} {
		if f, ok := stream.(*os.File); ok {
			t.pipes = append(t.pipes, pipeName(f))
		}
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	t.root = command.Process.Pid
	return t, nil
}

// killRounds bounds the hunt for processes that fork faster than they are
// found.
const killRounds = 20

// kill ends every process of the tree: the group at once, then whoever left it.
// Descendants are found again and again until none is left, because a process
// may fork between being found and being killed.
func (t *tree) kill() {
	_ = unix.Kill(-t.root, unix.SIGKILL) // fails when the group is empty
	for range killRounds {
		left := t.members()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL) // fails when it has just ended
		}
	}
}

// process is what is known of one process of this machine.
type process struct {
	pid, parent, group, session int
	// attached is true when it works in the tree's folder or holds one of its
	// streams.
	attached bool
}

// members returns the processes of the tree that live, by any sign that they
// belong to it, and their descendants.
func (t *tree) members() []int {
	all := t.processes()
	in := map[int]bool{}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !in[p.pid] && (p.group == t.root || p.session == t.root || p.attached || in[p.parent]) {
				in[p.pid], grown = true, true
			}
		}
	}
	list := make([]int, 0, len(in))
	for pid := range in {
		list = append(list, pid)
	}
	return list
}

func exitStatus(state *os.ProcessState) sandbox.ExitStatus {
	if state == nil {
		return sandbox.ExitStatus{Reason: sandbox.Exited, Code: -1}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return sandbox.ExitStatus{Reason: sandbox.Signalled, Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	return sandbox.ExitStatus{Reason: sandbox.Exited, Code: state.ExitCode()}
}
