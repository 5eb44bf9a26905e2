package subject

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what a server and every process below it have used so far.
type Usage struct {
	// CPU is user and system time, in steps of a clock tick (10 ms): of the
	// living, and of those that have ended and been waited for. Containers are
	// not below the server; they are their engine's.
	CPU time.Duration
	// Own is the server's own part of it.
	Own time.Duration
}

// tick is what the kernel counts processor time in for user space (USER_HZ).
const tick = 10 * time.Millisecond

// UsageOf reads the usage of a process and its descendants (Linux only).
func UsageOf(pid int) (Usage, error) {
	stats, err := processes()
	if err != nil {
		return Usage{}, err
	}
	server, alive := stats[pid]
	if !alive {
		return Usage{}, fmt.Errorf("process %d has ended", pid)
	}
	children := map[int][]int{}
	for id, s := range stats {
		children[s.parent] = append(children[s.parent], id)
	}
	used := Usage{Own: time.Duration(server.ticks) * tick}
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		p := stats[queue[0]]
		used.CPU += time.Duration(p.ticks+p.reaped) * tick
		queue = append(queue, children[queue[0]]...)
	}
	return used, nil
}

type process struct {
	parent        int
	ticks, reaped int64 // of itself, and of the children it has waited for
}

func processes() (map[int]process, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no /proc to read processor times from (%w)", os.ErrNotExist)
	}
	all := make(map[int]process, len(paths))
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		pid, p, err := parseStat(string(line))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all[pid] = p
	}
	return all, nil
}

// parseStat reads the fields ppid, utime, stime, cutime and cstime
// (proc_pid_stat(5)). The name may hold spaces and parentheses.
func parseStat(line string) (pid int, p process, err error) {
	head, _, found := strings.Cut(line, " (")
	end := strings.LastIndex(line, ") ")
	if !found || end < 0 {
		return 0, process{}, fmt.Errorf("not the state of a process: %.60q", line)
	}
	fields := strings.Fields(line[end+2:]) // fields[0] is field 3, the state
	if len(fields) < 15 {
		return 0, process{}, fmt.Errorf("only %d fields", len(fields))
	}
	if pid, err = strconv.Atoi(head); err != nil {
		return 0, process{}, err
	}
	if p.parent, err = strconv.Atoi(fields[1]); err != nil {
		return 0, process{}, err
	}
	for i, text := range fields[11:15] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, process{}, err
		}
		if i < 2 {
			p.ticks += n
		} else {
			p.reaped += n
		}
	}
	return pid, p, nil
}

// Resident is a process's memory in MB (2^20 bytes; Linux only).
func Resident(pid int) (float64, error) { return memory(pid, "VmRSS:") }

// Peak is the largest Resident so far.
func Peak(pid int) (float64, error) { return memory(pid, "VmHWM:") }

// OfFiles is the part of Resident that is of files, the program's code above
// all: it grows with what of that has been used, whatever is allocated.
func OfFiles(pid int) (float64, error) { return memory(pid, "RssFile:") }

func memory(pid int, key string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(status), key)
	if !found {
		return 0, fmt.Errorf("no %s in the status of process %d", key, pid)
	}
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	return float64(kb) / 1024, err
}
