package native

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// groupPrefix starts the names of this project's cgroups.
const groupPrefix = "ptc-mcp."

// owner identifies this process among all that ever made such cgroups: its pid
// namespace, its pid there and its start time.
func owner() string {
	return fmt.Sprintf("%s%s.%d.%s", groupPrefix, pidNamespace(), os.Getpid(), startTime(os.Getpid()))
}

// sweep removes what processes that are gone left behind. Their sandboxes died
// with them, so the folders are empty, or will be: it returns those that the
// kernel still refuses to remove.
func (hs hierarchies) sweep() (busy []string) {
	for _, h := range hs {
		entries, err := os.ReadDir(h.dir)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			parts := strings.Split(entry.Name(), ".")
			if len(parts) != 5 || parts[0]+"." != groupPrefix || parts[1] != pidNamespace() {
				continue
			}
			if pid, err := strconv.Atoi(parts[2]); err == nil && startTime(pid) != parts[3] {
				path := filepath.Join(h.dir, entry.Name())
				if err := os.Remove(path); errors.Is(err, unix.EBUSY) {
					busy = append(busy, path)
				}
			}
		}
	}
	return busy
}

// A killed host's sandboxes end within milliseconds; a loaded machine, with
// processes that hold much memory, may take some seconds.
const (
	sweepTries = 250
	sweepEvery = 20 * time.Millisecond
)

// sweepAgain removes the folders that a sweep found busy, as they fall empty.
func sweepAgain(busy []string) {
	for try := 0; try < sweepTries && len(busy) > 0; try++ {
		time.Sleep(sweepEvery)
		busy = slices.DeleteFunc(busy, func(path string) bool { return !errors.Is(os.Remove(path), unix.EBUSY) })
	}
}

// pidNamespace is the inode number of this process's pid namespace.
func pidNamespace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "0"
	}
	return strings.Trim(link, "pid:[]")
}

// startTime is when a process started, in clock ticks since boot, or "" if it
// has ended, even where nobody has asked for its end yet.
func startTime(pid int) string {
	fields := statFields(pid)
	if fields == nil || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19] // field 22 of proc_pid_stat(5)
}

// statFields are the fields of proc_pid_stat(5) from the third on, the state of
// the process; nil if there is no such process.
func statFields(pid int) []string {
	file, err := os.Open(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	line, _ := bufio.NewReader(file).ReadString('\n')
	// The name, field 2, may hold anything, even ")".
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(fields) < 20 {
		return nil
	}
	return fields
}
