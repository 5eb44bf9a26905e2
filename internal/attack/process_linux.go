package attack

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const hasAbstractSockets = true

// nobody is the user that sandboxes have: their own processes' kind.
const nobody = 65534

// victimAttributes give the process the user of the sandboxes where possible,
// so that user ids are not what protects it.
func victimAttributes() *syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// describe notes what Linux shows of the process.
func (b *Bait) describe() error {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", b.PID))
	if err != nil {
		return err
	}
	defer maps.Close()
	line, err := bufio.NewReader(maps).ReadString('\n')
	if err != nil {
		return err
	}
	from, _, _ := strings.Cut(line, "-")
	if b.Map, err = strconv.ParseUint(from, 16, 64); err != nil {
		return err
	}
	if b.TokenPipe, err = os.Readlink(fmt.Sprintf("/proc/%d/fd/0", b.PID)); err != nil {
		return err
	}
	if text, err := os.ReadFile("/proc/1/cmdline"); err == nil {
		sum := sha256.Sum256(text)
		b.Init = hex.EncodeToString(sum[:])
	}
	return nil
}

// openable tells whether a path is a device that could be opened.
func openable(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}
