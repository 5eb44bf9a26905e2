package native

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/native/fusedev"
)

// devices are the only device nodes, by the major and minor numbers that Linux
// has fixed for them (Documentation/admin-guide/devices.txt).
var devices = []struct {
	name         string
	major, minor uint32
}{{"null", 1, 3}, {"zero", 1, 5}, {"random", 1, 8}, {"urandom", 1, 9}}

const devicesDir = "/dev"

// A deviceSource is where a sandbox's device nodes come from.
type deviceSource int

const (
	hostDevices   deviceSource = iota // the host's own are shown: all share them
	madeDevices                       // each sandbox has new nodes
	servedDevices                     // each has files that behave like them
)

// chooseDevices chooses the best there is. Where the host's nodes are to be
// shown, noFUSE says what else would do.
func (b *backend) chooseDevices(u user) (source deviceSource, noFUSE error) {
	if u.privileged {
		fd, err := newDevices()
		if err == nil {
			_ = unix.Close(fd)
			return madeDevices, nil
		}
		b.logger.Debug("no device nodes can be made", "error", err)
	}
	// The sandbox's user is another where this process is privileged; what it
	// may open, the first sandbox shows.
	if fd, err := unix.Open(fusedev.Device, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return hostDevices, fmt.Errorf("open %s: %w", fusedev.Device, err)
	} else if err := unix.Close(fd); err != nil {
		return hostDevices, err
	}
	return servedDevices, nil
}

// devicesWarning says that device nodes are shared and why, or nothing.
func (s *machineState) devicesWarning() string {
	if s.devices != hostDevices {
		return ""
	}
	remedy := "let every user open " + fusedev.Device + ", as most distributions do (chmod 0666 " + fusedev.Device + ", and a udev rule to keep it so), or use docker"
	return fmt.Sprintf("programs that run at the same time can signal each other by locks on the host's /dev/null and its like, because an ordinary user can make no device nodes and FUSE cannot stand in for them here (%v): %s", s.noFUSE, remedy)
}

// showDevices shows the host's own nodes: locks on those are seen by everyone
// who opens them.
func (l *layout) showDevices() {
	for _, d := range devices {
		path := filepath.Join(devicesDir, d.name)
		l.binds = append(l.binds, bind{Source: path, Target: path, Device: true})
	}
}

// stepServe is the step that fails where this user may not use FUSE.
const stepServe = "serve device files"

// serveDevices makes a detached folder of files that behave like device nodes.
// This process serves it.
func serveDevices(fuse string) (int, error) {
	fd, err := fusedev.New(fuse, nobody)
	if err != nil {
		return -1, failedStep(stepServe, err)
	}
	return fd, nil
}

// lookUpDevices has the kernel learn the names in a served folder, before a run
// would wait for that.
func lookUpDevices() error {
	for _, d := range devices {
		var stat unix.Stat_t
		if err := unix.Stat(filepath.Join(devicesDir, d.name), &stat); err != nil {
			return failedStep(stepServe, err)
		}
	}
	return nil
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

// attachDevices mounts a folder of device nodes, if there is one.
func attachDevices(folder int) error {
	if folder == 0 {
		return nil
	}
	return attach(bind{Target: devicesDir, Dir: true, Tree: folder})
}
