package native

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Flags of every mount that is not executable by purpose.
const dataAttr = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC

// openTree makes a detached copy of the mounts at a bind's source, read-only
// and deaf to later mounts. It needs CAP_SYS_ADMIN over the caller's mount
// namespace, and Linux 5.12.
func openTree(b bind) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, b.Source,
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return -1, failedStep("open "+b.Source, err)
	}
	attr := unix.MountAttr{
		Attr_set:    unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV,
		Propagation: unix.MS_PRIVATE,
	}
	if b.Device {
		attr.Attr_set = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		_ = unix.Close(fd)
		return -1, failedStep("make "+b.Source+" read-only", err)
	}
	return fd, nil
}

// buildRoot replaces the root folder by a fresh one that holds what the plan
// names. After it nothing of the host can be named any more.
func buildRoot(p *rootPlan) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return failedStep("make mounts private", err)
	}
	if err := shadow(p); err != nil {
		return err
	}
	for i := range p.Binds {
		if p.Binds[i].Tree != 0 {
			continue
		}
		fd, err := openTree(p.Binds[i])
		if err != nil {
			return err
		}
		p.Binds[i].Tree = fd
	}
	if err := enterEmptyRoot(); err != nil {
		return err
	}
	for _, b := range p.Binds {
		if err := attach(b); err != nil {
			return err
		}
	}
	if err := attachDevices(p.Devices); err != nil {
		return err
	}
	for _, target := range p.Masks {
		if err := mountTmpfs(target, dataAttr|unix.MOUNT_ATTR_RDONLY, 4096, 1, "0555"); err != nil {
			return err
		}
	}
	for _, l := range p.Links {
		if err := makeLink(l); err != nil {
			return err
		}
	}
	for _, folder := range append([]string{scratchDir}, p.Folders...) {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return failedStep("make "+folder, err)
		}
	}
	readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &readOnly); err != nil {
		return failedStep("make the root read-only", err)
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return failedStep("set the host name", err)
	}
	return nil
}

// mountScratch mounts the one writable folder.
func mountScratch(s scratch) error {
	return mountTmpfs(scratchDir, dataAttr, s.Bytes, s.Inodes, "0700")
}

// enterEmptyRoot makes an empty tmpfs the root and drops the old one.
func enterEmptyRoot() error {
	// Room for folders, empty files to mount on, and links: no content.
	root, err := newTmpfs(dataAttr, 1<<20, 4096, "0755")
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(root) }()
	if err := unix.MoveMount(root, "", unix.AT_FDCWD, "/", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return failedStep("mount the root", err)
	}
	if err := unix.Fchdir(root); err != nil {
		return failedStep("enter the root", err)
	}
	// Both names alike: the old root comes to lie on the new one, from where
	// it can be unmounted (pivot_root(2), NOTES).
	if err := unix.PivotRoot(".", "."); err != nil {
		return failedStep("change the root", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return failedStep("drop the old root", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return failedStep("enter the root", err)
	}
	return nil
}

func attach(b bind) error {
	if err := makeMountPoint(b.Target, b.Dir); err != nil {
		return failedStep("make "+b.Target, err)
	}
	if err := unix.MoveMount(b.Tree, "", unix.AT_FDCWD, b.Target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return failedStep("mount "+b.Target, err)
	}
	return unix.Close(b.Tree)
}

func makeMountPoint(path string, dir bool) error {
	if dir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o444)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func makeLink(l link) error {
	err := os.MkdirAll(filepath.Dir(l.Path), 0o755)
	if err == nil {
		err = os.Symlink(l.To, l.Path)
	}
	if err != nil {
		return failedStep("link "+l.Path, err)
	}
	return nil
}

func mountTmpfs(target string, attr int, size, inodes int64, mode string) error {
	fd, err := newTmpfs(attr, size, inodes, mode)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return failedStep("mount "+target, err)
	}
	return nil
}

// newTmpfs makes a detached tmpfs of so many bytes and inodes.
func newTmpfs(attr int, size, inodes int64, mode string) (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, failedStep("open a tmpfs", err)
	}
	defer func() { _ = unix.Close(fs) }()
	for key, value := range map[string]string{
		"size":      strconv.FormatInt(size, 10),
		"nr_inodes": strconv.FormatInt(inodes, 10),
		"mode":      strings.TrimLeft(mode, "0"),
	} {
		if err := unix.FsconfigSetString(fs, key, value); err != nil {
			return -1, failedStep("size a tmpfs", err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, failedStep("create a tmpfs", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return -1, failedStep("mount a tmpfs", err)
	}
	return fd, nil
}
