//go:build !linux

package attack

import (
	"os"
	"syscall"
)

const hasAbstractSockets = false

// victimAttributes are none in particular.
func victimAttributes() *syscall.SysProcAttr { return nil }

// describe has nothing to add: there is no /proc.
func (*Bait) describe() error { return nil }

// openable tells whether a device is there.
func openable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeDevice != 0
}
