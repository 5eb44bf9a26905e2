package native

import (
	"log/slog"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// devices are the only device nodes, by the major and minor numbers that Linux
// has fixed for them (Documentation/admin-guide/devices.txt).
var devices = []struct {
	name         string
	major, minor uint32
}{{"null", 1, 3}, {"zero", 1, 5}, {"random", 1, 8}, {"urandom", 1, 9}}

const devicesDir = "/dev"

// hostDevices shows the host's own nodes, where none can be made: locks on
// those are seen by everyone who opens them.
func (l *layout) hostDevices() {
	for _, d := range devices {
		path := filepath.Join(devicesDir, d.name)
		l.binds = append(l.binds, bind{Source: path, Target: path, Device: true})
	}
}

// newDevices makes a detached, read-only folder of new device nodes. It takes
// CAP_MKNOD outside every user namespace.
func newDevices() (int, error) {
	fd, err := newTmpfs(unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, 1<<20, int64(len(devices))+1, "0755")
	if err != nil {
		return -1, err
	}
	if err := fillDevices(fd); err != nil {
		_ = unix.Close(fd)
		return -1, failedStep("make device nodes", err)
	}
	return fd, nil
}

func fillDevices(folder int) error {
	for _, d := range devices {
		if err := unix.Mknodat(folder, d.name, unix.S_IFCHR, int(unix.Mkdev(d.major, d.minor))); err != nil {
			return err
		}
		// Whatever the umask is.
		if err := unix.Fchmodat(folder, d.name, 0o666, 0); err != nil {
			return err
		}
		// Some containers let nodes be made and not opened.
		node, err := unix.Openat(folder, d.name, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_ = unix.Close(node)
	}
	return unix.MountSetattr(folder, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// canMakeDevices tries it.
func canMakeDevices(logger *slog.Logger) bool {
	fd, err := newDevices()
	if err != nil {
		logger.Debug("sandboxes share the host's device nodes", "error", err)
		return false
	}
	_ = unix.Close(fd)
	return true
}

// attachDevices mounts a folder of device nodes, if there is one.
func attachDevices(folder int) error {
	if folder == 0 {
		return nil
	}
	return attach(bind{Target: devicesDir, Dir: true, Tree: folder})
}
