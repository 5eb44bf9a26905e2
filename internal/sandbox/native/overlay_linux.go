package native

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// stepOverlay is the step that fails where the kernel or a file system knows no
// overlay for this user.
const stepOverlay = "make an overlay"

// refusedOverlay is the kernel's word if a sandbox failed for want of an
// overlay, else nil.
func refusedOverlay(err error) error {
	if step := (*stepError)(nil); errors.As(err, &step) && step.step == stepOverlay {
		return step.err
	}
	return nil
}

// openLayer makes a detached copy of the mount at a layer's source, without
// what is mounted in it.
func openLayer(source string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return -1, failedStep(stepOverlay, err)
	}
	return fd, nil
}

// shadow gives every bind that lies in a layer a detached mount of its file or
// folder as an overlay of this sandbox's own shows it.
//
// It mounts what it needs in a folder of its own on top of the old root, and
// takes that away again: what lies on the old root would be dropped in its
// stead.
func shadow(p *rootPlan) error {
	if len(p.Layers) == 0 {
		return nil
	}
	workshop, err := newTmpfs(dataAttr, 1<<20, 64, "0755")
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(workshop) }()
	if err := unix.MoveMount(workshop, "", unix.AT_FDCWD, "/", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return failedStep("mount the workshop", err)
	}
	// Absolute names still mean the old root.
	if err := unix.Fchdir(workshop); err != nil {
		return failedStep("enter the workshop", err)
	}
	if err := os.Mkdir(nothing, 0o755); err != nil {
		return failedStep("make an empty folder", err)
	}
	for n := range p.Layers {
		if err := p.Layers[n].cover(strconv.Itoa(n + 1)); err != nil {
			return err
		}
	}
	for n := range p.Binds {
		b := &p.Binds[n]
		if b.Layer == 0 {
			continue
		}
		within := strings.TrimPrefix(b.Source, p.Layers[b.Layer-1].Source+"/")
		b.Tree, err = unix.OpenTree(unix.AT_FDCWD, filepath.Join(strconv.Itoa(b.Layer), within),
			unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			return failedStep(stepOverlay, err)
		}
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return failedStep("drop the workshop", err)
	}
	return nil
}

// nothing is an empty folder: an overlay that cannot be written needs two
// layers.
const nothing = "nothing"

// cover mounts a layer at a folder that it makes, and an overlay of it on top.
func (l layer) cover(at string) error {
	tree := l.Tree
	if tree == 0 {
		var err error
		if tree, err = openLayer(l.Source); err != nil {
			return err
		}
	}
	defer func() { _ = unix.Close(tree) }()
	if err := os.Mkdir(at, 0o755); err != nil {
		return failedStep("make "+at, err)
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return failedStep(stepOverlay, err)
	}
	overlay, err := newOverlay(at)
	if err != nil {
		return failedStep(stepOverlay, err)
	}
	defer func() { _ = unix.Close(overlay) }()
	if err := unix.MoveMount(overlay, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return failedStep(stepOverlay, err)
	}
	return nil
}

// newOverlay makes a detached, read-only overlay of one folder.
func newOverlay(lower string) (int, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(fs) }()
	if err := unix.FsconfigSetString(fs, "lowerdir", lower+":"+nothing); err != nil {
		return -1, err
	}
	// In a user namespace, overlays may keep their notes in no other attributes.
	if err := unix.FsconfigSetFlag(fs, "userxattr"); err != nil {
		return -1, err
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}
