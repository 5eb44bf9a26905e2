package unconfined

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processAttributes make a session, so that no terminal signal of the host
// reaches the program, and end the interpreter with this process.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// pipeName is what /proc shows as the target of a descriptor of this pipe.
func pipeName(f *os.File) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())) // empty matches nothing
	return name
}

// processes reads /proc. Without one, only the process group is ended.
func (t *tree) processes() []process {
	folders, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	self := os.Getpid()
	var list []process
	for _, folder := range folders {
		pid, err := strconv.Atoi(folder.Name())
		if err != nil || pid == self {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		// After the command, in parentheses: state, parent, group, session
		// (proc(5)).
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) < 4 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		p := process{pid: pid, attached: t.holds(pid)}
		p.parent, _ = strconv.Atoi(fields[1])
		p.group, _ = strconv.Atoi(fields[2])
		p.session, _ = strconv.Atoi(fields[3])
		list = append(list, p)
	}
	return list
}

// holds tells whether a process works in the folder or has one of the streams
// as its standard input, output or error. A stranger has neither.
func (t *tree) holds(pid int) bool {
	if at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil {
		at = strings.TrimSuffix(at, " (deleted)")
		if at == t.folder || strings.HasPrefix(at, t.folder+"/") {
			return true
		}
	}
	for fd := range 3 {
		target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
		if err != nil || target == "" {
			continue
		}
		for _, pipe := range t.pipes {
			if target == pipe {
				return true
			}
		}
	}
	return false
}
