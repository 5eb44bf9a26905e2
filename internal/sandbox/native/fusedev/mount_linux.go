package fusedev

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// New makes a detached mount of a folder whose files belong to owner, an id of
// the caller's user namespace and the only user who can use them. device is
// the path of Device. It takes CAP_SYS_ADMIN in that namespace.
//
// A goroutine serves it until nothing shows it any more. When this process
// ends, whoever still uses the folder gets errors.
func New(device string, owner int) (mount int, err error) {
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", device, err)
	}
	if mount, err = newMount(fd, owner); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	agreed := make(chan error, 1)
	s := &server{owner: uint32(owner)}
	go func() {
		defer func() { _ = unix.Close(fd) }()
		agreed <- s.serve(fd, func() { agreed <- nil })
	}()
	if err := <-agreed; err != nil {
		_ = unix.Close(mount)
		return -1, fmt.Errorf("serve a file system: %w", err)
	}
	return mount, nil
}

func newMount(device, owner int) (int, error) {
	fs, err := unix.Fsopen("fuse", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("open a file system: %w", err)
	}
	defer func() { _ = unix.Close(fs) }()
	id := strconv.Itoa(owner)
	for _, option := range [][2]string{
		{"fd", strconv.Itoa(device)},
		{"rootmode", "40555"},
		{"user_id", id},
		{"group_id", id},
		{"max_read", strconv.Itoa(transfer)},
	} {
		if err := unix.FsconfigSetString(fs, option[0], option[1]); err != nil {
			return -1, fmt.Errorf("set %s of a file system: %w", option[0], err)
		}
	}
	// The kernel checks modes, and does not ask about what they forbid.
	if err := unix.FsconfigSetFlag(fs, "default_permissions"); err != nil {
		return -1, fmt.Errorf("set up a file system: %w", err)
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("create a file system: %w", err)
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return -1, fmt.Errorf("mount a file system: %w", err)
	}
	return mount, nil
}

// serve answers requests until the file system is gone. It calls agreed once
// the kernel can use it. Its calls block a thread each, and none allocates:
// once a sandbox's limits are set, no thread could be started.
func (s *server) serve(device int, agreed func()) error {
	request, answer := make([]byte, requestSize), make([]byte, answerSize)
	for {
		n, err := unix.Read(device, request)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOENT):
			continue // ENOENT: who asked has given up
		case err != nil:
			return err // ENODEV: nothing shows it any more
		}
		before := s.ready
		n, err = s.answer(request[:n], answer)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		pause(s.brake.delay(time.Now()))
		if _, err := unix.Write(device, answer[:n]); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
		if s.ready && !before {
			agreed()
		}
	}
}

// pause sleeps; a signal may end it early.
func pause(d time.Duration) {
	if d <= 0 {
		return
	}
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
}
