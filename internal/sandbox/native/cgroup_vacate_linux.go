package native

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// vacatedFor is the name of the cgroup that this process goes to, with its
// children, when it leaves its own to sandboxes.
const vacatedFor = groupPrefix + "host"

// vacate moves this process and its children from a cgroup of version 2 into
// one below, so that the cgroup can hand its controllers to sandboxes: one with
// processes in it cannot. That is how a service with Delegate=yes, and a
// container with a cgroup of its own, are meant to be used. Where other
// processes are in it, it is not this process's to arrange, and stays as it is.
func vacate(dir string) error {
	inside := filepath.Join(dir, vacatedFor, "cgroup.procs")
	for range vacateTries {
		pids := members(dir)
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if !descends(pid) {
				return fmt.Errorf("cgroup: process %d is in %s too", pid, dir)
			}
		}
		if err := os.Mkdir(filepath.Dir(inside), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("cgroup: %w", err)
		}
		for _, pid := range pids {
			// A child may just have ended.
			err := os.WriteFile(inside, []byte(strconv.Itoa(pid)), 0o644)
			if err != nil && startTime(pid) != "" {
				return fmt.Errorf("cgroup: %w", err)
			}
		}
	}
	return fmt.Errorf("cgroup: processes keep appearing in %s", dir)
}

// vacateTries bounds the moves: a child of a child that is not moved yet may
// have been made meanwhile.
const vacateTries = 10

// members are the processes in a cgroup; 0 stands for one that this process
// cannot see.
func members(dir string) []int {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	var pids []int
	for _, field := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descends says whether a process is this one, or was started by one that
// descends from it.
func descends(pid int) bool {
	for pid > 0 && pid != os.Getpid() {
		fields := statFields(pid)
		if fields == nil {
			return false
		}
		pid, _ = strconv.Atoi(fields[1]) // field 4 of proc_pid_stat(5), the parent
	}
	return pid > 0
}
