package downstream

import (
	"bytes"
	"os"
	"strconv"
)

// descendants returns the living descendants of pid with their start times.
func descendants(pid int) map[int]uint64 {
	children := make(map[int][]int)
	started := make(map[int]uint64)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent, start, ok := processStat(child); ok {
			children[parent] = append(children[parent], child)
			started[child] = start
		}
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
	_, start, _ := processStat(pid)
	return start
}

// processStat reads fields 4 and 22 of /proc/PID/stat (proc(5)); the command
// name before them may contain anything, so fields count from its last ")".
func processStat(pid int) (parent int, start uint64, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return 0, 0, false
	}
	parent, errParent := strconv.Atoi(string(fields[1]))
	start, errStart := strconv.ParseUint(string(fields[19]), 10, 64)
	return parent, start, errParent == nil && errStart == nil
}
