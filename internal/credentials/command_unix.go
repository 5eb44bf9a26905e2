//go:build unix

package credentials

import (
	"os/exec"
	"syscall"
)

// killTree has a command's end end what it has started, too.
func killTree(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
