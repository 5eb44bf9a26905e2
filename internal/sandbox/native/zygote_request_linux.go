package native

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Where in a request some descriptors are.
const (
	requestControl = 3
	requestDevices = 4
)

// Sizes of a request: what is read of it, and how many descriptors.
const (
	requestBytes       = 4 << 10
	requestDescriptors = 16
)

// send sends a request. The socket is non-blocking; while it is full, send
// waits, up to its deadline.
func send(socket *os.File, r *request, files []*os.File) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	fds := make([]int, len(files))
	for n, file := range files {
		fds[n] = int(file.Fd())
	}
	conn, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var sendErr error
	if err := conn.Write(func(fd uintptr) bool {
		sendErr = unix.Sendmsg(int(fd), text, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		return !errors.Is(sendErr, unix.EAGAIN)
	}); err != nil {
		return err
	}
	return sendErr
}

// receive waits for a request on a blocking socket; io.EOF means that there are
// no more.
func receive(socket int) (text []byte, fds []int, err error) {
	text = make([]byte, requestBytes)
	rights := make([]byte, unix.CmsgSpace(4*requestDescriptors))
	var n, m int
	for {
		n, m, _, _, err = unix.Recvmsg(socket, text, rights, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if n == 0 {
		return nil, nil, io.EOF
	}
	fds, err = parseRights(rights[:m])
	return text[:n], fds, err
}

func parseRights(rights []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, fmt.Errorf("read descriptors: %w", err)
	}
	var all []int
	for n := range messages {
		fds, err := unix.ParseUnixRights(&messages[n])
		if err != nil {
			return nil, fmt.Errorf("read descriptors: %w", err)
		}
		all = append(all, fds...)
	}
	return all, nil
}

// receiveHandle waits for the first byte on a run's control socket, with which
// the handle on its first process comes. It heeds the socket's deadline.
func receiveHandle(control *os.File) (*os.File, error) {
	conn, err := control.SyscallConn()
	if err != nil {
		return nil, err
	}
	var n, m int
	var one [1]byte
	rights := make([]byte, unix.CmsgSpace(4))
	var receiveErr error
	if err := conn.Read(func(fd uintptr) bool {
		n, m, _, _, receiveErr = unix.Recvmsg(int(fd), one[:], rights, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
		return !errors.Is(receiveErr, unix.EAGAIN) && !errors.Is(receiveErr, unix.EINTR)
	}); err != nil {
		return nil, err
	}
	if receiveErr != nil {
		return nil, receiveErr
	}
	if n == 0 {
		return nil, errDied
	}
	fds, err := parseRights(rights[:m])
	if err != nil {
		return nil, err
	}
	if len(fds) != 1 {
		// The start of a report: the rest says what failed.
		failed := report{}
		if err := json.NewDecoder(io.MultiReader(bytes.NewReader(one[:]), control)).Decode(&failed); err != nil {
			return nil, errDied
		}
		return nil, failed.failure()
	}
	// Without this, waiting for it would hold a thread.
	if err := unix.SetNonblock(fds[0], true); err != nil {
		_ = unix.Close(fds[0])
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "sandbox"), nil
}
