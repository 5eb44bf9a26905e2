package docker

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

const (
	// bufferBytes is how far one stream may run ahead of its reader before the
	// other, which shares the connection, is held up too.
	bufferBytes = 256 << 10
	// lateBytes is how much more is kept once nobody need read any more: what
	// the kernel and the engine hold in flight (1.4 MB measured), with room.
	lateBytes = 4 << 20
)

// buffer is one direction of a stream between two goroutines: Write blocks
// while it is full, Read while it is empty.
type buffer struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte
	start   int // data[start:] is unread
	limit   int
	err     error // what Read returns once data is empty
	late    bool
}

func newBuffer() *buffer {
	b := &buffer{limit: bufferBytes}
	b.changed.L = &b.mu
	return b
}

// Write stores p for Read. It never fails; after release it never blocks and
// drops what is beyond the limit.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		room := b.limit - (len(b.data) - b.start)
		if room <= 0 {
			if b.late {
				break
			}
			b.changed.Wait()
			continue
		}
		if b.start > 0 && len(b.data)+len(p) > cap(b.data) {
			b.data = b.data[:copy(b.data, b.data[b.start:])]
			b.start = 0
		}
		part := p[:min(room, len(p))]
		b.data = append(b.data, part...)
		p = p[len(part):]
		b.changed.Broadcast()
	}
	return n, nil
}

// Read returns what was written, then the error given to end.
func (b *buffer) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.start == len(b.data) {
		if b.err != nil {
			b.data, b.start = nil, 0
			return 0, b.err
		}
		b.changed.Wait()
	}
	n := copy(p, b.data[b.start:])
	b.start += n
	if b.start == len(b.data) {
		b.data, b.start = b.data[:0], 0
	}
	b.changed.Broadcast()
	return n, nil
}

// end makes Read return err after what was written.
func (b *buffer) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.changed.Broadcast()
}

// release stops Write from ever blocking: an engine hangs in kill and wait as
// long as a stream is not drained. What is in flight can still be read.
func (b *buffer) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.late = true
	b.limit = lateBytes
	b.changed.Broadcast()
}

// The header of each piece of an attach stream: a byte that names the stream,
// three that are zero, four with the length, big-endian.
const (
	attachHeaderBytes = 8
	attachStdout      = 1
	attachStderr      = 2
)

// demultiplex copies an attach stream to its two destinations until it ends.
// A clean end is io.EOF.
func demultiplex(stream io.Reader, stdout, stderr *buffer) error {
	in := bufio.NewReaderSize(stream, 64<<10)
	piece := make([]byte, 64<<10)
	var header [attachHeaderBytes]byte
	for {
		if _, err := io.ReadFull(in, header[:]); err != nil {
			return err
		}
		var to *buffer
		switch header[0] {
		case attachStdout:
			to = stdout
		case attachStderr:
			to = stderr
		default:
			return fmt.Errorf("docker: attach stream has an unknown stream number %d", header[0])
		}
		for left := int64(binary.BigEndian.Uint32(header[4:])); left > 0; {
			n, err := in.Read(piece[:min(left, int64(len(piece)))])
			_, _ = to.Write(piece[:n])
			left -= int64(n)
			if err != nil {
				return io.ErrUnexpectedEOF
			}
		}
	}
}
