package fusedev

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// Requests and answers are those of <linux/fuse.h>, in the machine's own byte
// order. Every request starts with a header, every answer with another.
const (
	requestHeader = 40
	answerHeader  = 16

	// transfer bounds what is read or written by one request: the kernel
	// divides what is larger.
	transfer = 64 << 10
	// requestSize is room for the largest request: a write, or a name.
	requestSize = transfer + 4<<10
	answerSize  = answerHeader + transfer
)

// Kinds of requests.
const (
	opLookup      = 1
	opForget      = 2
	opGetattr     = 3
	opSetattr     = 4
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opStatfs      = 17
	opRelease     = 18
	opFlush       = 25
	opInit        = 26
	opOpendir     = 27
	opReaddir     = 28
	opReleasedir  = 29
	opInterrupt   = 36
	opBatchForget = 42
)

// The version of the protocol that is spoken, and what is asked of the kernel
// in it. Locks are not asked for: the kernel keeps them with the file.
const (
	major, minor = 7, 31

	flagAtomicTruncate = 1 << 3
	flagBigWrites      = 1 << 5
	flagMaxPages       = 1 << 22

	openDirect = 1 << 0 // no page cache: the size says nothing about the content
)

// What a request to set attributes can name beside the times and the size.
const setOwnerOrMode = 1<<0 | 1<<1 | 1<<2

// The folder is node 1, as the protocol has it; the files follow.
const (
	folderNode = 1
	firstNode  = 2

	nullNode = firstNode
	zeroNode = firstNode + 1
)

// names are the files of a folder.
var names = [...]string{"null", "zero", "random", "urandom"}

// errProtocol means that the other side is not a kernel that speaks FUSE.
var errProtocol = errors.New("a request that is none")

// A server answers for one folder.
type server struct {
	owner uint32 // user and group of everything
	ready bool   // the kernel has said which protocol it speaks
	brake brake
}

// answer writes the answer to a request and returns its length; 0 means that
// none is due. An error ends the file system.
func (s *server) answer(request, answer []byte) (int, error) {
	order := binary.NativeEndian
	if len(request) < requestHeader || int(order.Uint32(request)) != len(request) {
		return 0, errProtocol
	}
	kind, node := order.Uint32(request[4:]), order.Uint64(request[16:])
	switch {
	case kind == opForget, kind == opBatchForget, kind == opInterrupt:
		return 0, nil
	case !s.ready && kind != opInit:
		return 0, errProtocol
	}
	n, errno := s.reply(kind, node, request[requestHeader:], answer[answerHeader:])
	if errno != 0 && kind == opInit {
		return 0, errno
	}
	order.PutUint32(answer, uint32(answerHeader+n))
	order.PutUint32(answer[4:], uint32(-int32(errno)))
	copy(answer[8:16], request[8:16]) // by which the kernel knows what is answered
	return answerHeader + n, nil
}

// reply writes the body of an answer and returns its length. What is not
// supported gets ENOSYS, by which the kernel knows not to ask again.
func (s *server) reply(kind uint32, node uint64, request, body []byte) (int, syscall.Errno) {
	order := binary.NativeEndian
	isFolder := node == folderNode
	switch {
	case kind == opInit:
		return s.agree(request, body)
	case node < folderNode, node >= firstNode+uint64(len(names)):
		return 0, unix.ENOENT
	}
	switch kind {
	case opLookup:
		name, _, ended := bytes.Cut(request, []byte{0})
		if !ended || !isFolder {
			return 0, unix.ENOENT
		}
		for n, known := range names {
			if string(name) == known {
				return s.entry(firstNode+uint64(n), body), 0
			}
		}
		return 0, unix.ENOENT
	case opGetattr:
		return s.attributes(node, body), 0
	case opSetattr:
		// Times and sizes are accepted and forgotten, as by a device.
		if len(request) < 4 {
			return 0, unix.EIO
		}
		if isFolder || order.Uint32(request)&setOwnerOrMode != 0 {
			return 0, unix.EPERM
		}
		return s.attributes(node, body), 0
	case opOpen, opOpendir:
		if isFolder != (kind == opOpendir) {
			return 0, unix.EIO
		}
		clear(body[:16])
		if !isFolder {
			order.PutUint32(body[8:], openDirect)
		}
		return 16, 0
	case opRelease, opReleasedir:
		return 0, 0
	case opRead, opReaddir:
		if len(request) < 20 || isFolder != (kind == opReaddir) {
			return 0, unix.EIO
		}
		size := min(int(order.Uint32(request[16:])), transfer)
		if isFolder {
			return list(order.Uint64(request[8:]), body[:size]), 0
		}
		return read(node, body[:size])
	case opWrite:
		const fixed = 40
		if len(request) < fixed || isFolder {
			return 0, unix.EIO
		}
		size := order.Uint32(request[16:])
		if int(size) != len(request)-fixed {
			return 0, unix.EIO
		}
		clear(body[:8])
		order.PutUint32(body, size)
		return 8, 0
	case opStatfs:
		const size = 80
		clear(body[:size])
		return size, 0
	}
	return 0, unix.ENOSYS
}

// agree settles the protocol.
func (s *server) agree(request, body []byte) (int, syscall.Errno) {
	order := binary.NativeEndian
	if s.ready || len(request) < 16 || order.Uint32(request) != major || order.Uint32(request[4:]) < minor {
		return 0, unix.EPROTO
	}
	const size = 64
	clear(body[:size])
	order.PutUint32(body[0:], major)
	order.PutUint32(body[4:], minor)
	order.PutUint32(body[12:], order.Uint32(request[12:])&(flagAtomicTruncate|flagBigWrites|flagMaxPages))
	order.PutUint32(body[20:], transfer) // the most that is written at once
	order.PutUint32(body[24:], 1)        // times to the nanosecond
	order.PutUint16(body[28:], transfer>>12)
	s.ready = true
	return size, 0
}

// entry says what a name means. It means so for ever.
func (s *server) entry(node uint64, body []byte) int {
	const size = 40
	clear(body[:size])
	binary.NativeEndian.PutUint64(body, node)
	binary.NativeEndian.PutUint64(body[16:], math.MaxInt32) // seconds
	s.encode(node, body[size:])
	return size + attributesSize
}

// attributes says what a node is. It holds for no time: writing would make the
// kernel believe in a size.
func (s *server) attributes(node uint64, body []byte) int {
	const size = 16
	clear(body[:size])
	s.encode(node, body[size:])
	return size + attributesSize
}

const attributesSize = 88

func (s *server) encode(node uint64, body []byte) {
	order := binary.NativeEndian
	mode, links := uint32(unix.S_IFREG|0o666), uint32(1)
	if node == folderNode {
		mode, links = unix.S_IFDIR|0o555, 2
	}
	clear(body[:attributesSize])
	order.PutUint64(body[0:], node)
	order.PutUint32(body[60:], mode)
	order.PutUint32(body[64:], links)
	order.PutUint32(body[68:], s.owner)
	order.PutUint32(body[72:], s.owner)
	order.PutUint32(body[80:], 4096)
}

// list writes the entries of the folder from an offset on, as many as fit.
func list(offset uint64, body []byte) int {
	order := binary.NativeEndian
	n := 0
	for ; offset < uint64(len(names)); offset++ {
		const fixed = 24
		name := names[offset]
		size := (fixed + len(name) + 7) &^ 7
		if n+size > len(body) {
			break
		}
		entry := body[n : n+size]
		clear(entry)
		order.PutUint64(entry[0:], firstNode+offset)
		order.PutUint64(entry[8:], offset+1)
		order.PutUint32(entry[16:], uint32(len(name)))
		order.PutUint32(entry[20:], unix.S_IFREG>>12)
		copy(entry[fixed:], name)
		n += size
	}
	return n
}

// read fills a body as the device of a node would.
func read(node uint64, body []byte) (int, syscall.Errno) {
	switch node {
	case nullNode:
		return 0, 0
	case zeroNode:
		clear(body)
		return len(body), 0
	}
	for rest := body; len(rest) > 0; {
		n, err := unix.Getrandom(rest, 0)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return 0, unix.EIO
		}
		rest = rest[max(n, 0):]
	}
	return len(body), 0
}
