package docker

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

func machineID() string {
	id, err := unix.Sysctl("kern.uuid")
	if err != nil {
		return ""
	}
	return "/" + id
}

func bootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid") // without it nothing is swept
	return id
}

func processNamespace() string { return "" }

// processStarted returns when a process started, or empty when there is no
// such process. It reports whether it could tell.
func processStarted(pid int) (started string, known bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		// An answer of length 0 means that there is no such process.
		return "", errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH)
	}
	at := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", at.Sec, at.Usec), true
}
