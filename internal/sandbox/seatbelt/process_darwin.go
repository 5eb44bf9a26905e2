package seatbelt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processStarted returns when a process started, or empty when there is no such
// process. It reports whether it could tell.
func processStarted(pid int) (started string, known bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		// An answer of length 0 means that there is no such process.
		return "", errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH)
	}
	at := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", at.Sec, at.Usec), true
}

// The system call behind proc_pid_rusage(3), as libproc makes it. Its answer is
// what Activity Monitor shows as memory: private pages, compressed and swapped
// ones included (<libproc.h>, <sys/resource.h>, bsd/sys/proc_info_private.h of
// xnu). Apple promises libproc only, which Go cannot call without C; so Probe
// looks whether this works before memory is said to be limited.
const (
	sysProcInfo           = 336
	procInfoCallPidRusage = 9
	rusageInfoV0          = 0
	rusageInfoV0Bytes     = 96
	physFootprintAt       = 72 // ri_phys_footprint, after a UUID and 7 counters of 8 bytes
)

// memoryUsed returns the bytes of memory that a process of this user takes up.
func memoryUsed(pid int) (int64, error) {
	var info [rusageInfoV0Bytes]byte
	_, _, errno := unix.Syscall6(sysProcInfo, procInfoCallPidRusage, uintptr(pid), rusageInfoV0, 0,
		uintptr(unsafe.Pointer(&info[0])), 0)
	if errno != 0 {
		return 0, fmt.Errorf("memory of process %d: %w", pid, errno)
	}
	return int64(binary.NativeEndian.Uint64(info[physFootprintAt:])), nil
}

// unlock takes away the flags with which a program can keep a file or folder of
// its own from being removed. Links have none: the profile sees to that.
func unlock(path string, info os.FileInfo) {
	if info.IsDir() || info.Mode().IsRegular() {
		_ = unix.Chflags(filepath.Clean(path), 0) // the removal will say what is wrong
	}
}
