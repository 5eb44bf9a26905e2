package docker

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

func machineID() string {
	text, err := os.ReadFile("/etc/machine-id")
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return ""
	}
	return "/" + strings.TrimSpace(string(text))
}

func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it nothing is swept
	return strings.TrimSpace(string(text))
}

func processNamespace() string {
	name, _ := os.Readlink("/proc/self/ns/pid") // without it all are taken for one
	return name
}

// processStarted returns when a process started, in clock ticks since boot, or
// empty when there is no such process. It reports whether it could tell.
func processStarted(pid int) (started string, known bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat("/proc/self/stat")
		return "", err == nil
	}
	if err != nil {
		return "", false
	}
	// Field 2 is the command in parentheses and may hold anything; field 22 is
	// the start time (proc(5)), so the 20th after the last parenthesis.
	const startTime = 19
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= startTime {
		return "", false
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return "", true
	}
	return fields[startTime], true
}
