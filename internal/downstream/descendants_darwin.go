package downstream

import "golang.org/x/sys/unix"

// descendants returns the living descendants of pid with their start times.
func descendants(pid int) map[int]uint64 {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	children := make(map[int][]int)
	started := make(map[int]uint64)
	for _, p := range all {
		child := int(p.Proc.P_pid)
		children[int(p.Eproc.Ppid)] = append(children[int(p.Eproc.Ppid)], child)
		started[child] = microseconds(p.Proc.P_starttime)
	}
	found := make(map[int]uint64)
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		child := queue[0]
		if _, seen := found[child]; !seen {
			found[child] = started[child]
			queue = append(queue, children[child]...)
		}
	}
	return found
}

// startTime returns when the process started, 0 if there is none.
func startTime(pid int) uint64 {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return microseconds(p.Proc.P_starttime)
}

func microseconds(t unix.Timeval) uint64 { return uint64(t.Sec)*1e6 + uint64(t.Usec) }
