package unconfined

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// processAttributes make a session, so that no terminal signal of the host
// reaches the program.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// pipeName is empty: macOS shows no names of pipes.
func pipeName(*os.File) string { return "" }

// processes asks the kernel for its table. A process that left the group and
// whose parent has ended cannot be told from a stranger here.
func (t *tree) processes() []process {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	const zombie = 5 // SZOMB, <sys/proc.h>
	self := os.Getpid()
	var list []process
	for _, k := range table {
		pid := int(k.Proc.P_pid)
		if pid != self && k.Proc.P_stat != zombie {
			list = append(list, process{pid: pid, parent: int(k.Eproc.Ppid), group: int(k.Eproc.Pgid)})
		}
	}
	return list
}
