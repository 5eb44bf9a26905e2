package seatbelt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// The tests run on Linux too, with a stand-in for sandbox-exec.

// processStarted returns when a process started, in clock ticks since boot, or
// empty when there is no such process. It reports whether it could tell.
func processStarted(pid int) (started string, known bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return "", true
	}
	// After the command, in parentheses, come the state and, 19 fields later,
	// the start (proc(5)).
	const startTime = 19
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if err != nil || len(fields) <= startTime {
		return "", false
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", true
	}
	return fields[startTime], true
}

// memoryUsed returns the bytes of memory that a process takes up.
func memoryUsed(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	return resident * int64(os.Getpagesize()), nil
}

func unlock(string, os.FileInfo) {} // no such flags
