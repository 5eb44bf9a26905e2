package warm

import (
	"encoding/binary"
	"io"
)

const (
	headerBytes = 4
	// maxFirstBytes is the largest first frame of a healthy runner.
	maxFirstBytes = 4 << 10
	// aheadBytes is what one read ahead takes at most; a healthy sandbox gives
	// nothing before it is used.
	aheadBytes = 512
)

// early is a read made before anybody asked for it.
type early struct {
	done chan struct{} // closed when data and err are set
	data []byte
	err  error
}

func newEarly() *early { return &early{done: make(chan struct{})} }

func (e *early) set(data []byte, err error) {
	e.data, e.err = data, err
	close(e.done)
}

func (e *early) isDone() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// ahead reads once, which tells the end of a stream as well as data.
func (e *early) ahead(r io.Reader) {
	data := make([]byte, aheadBytes)
	n, err := r.Read(data)
	e.set(data[:n], err)
}

// firstFrame reads one frame and no byte beyond it; of one that is too large,
// only the header. What it has read is never lost, whatever the error.
func firstFrame(r io.Reader) (frame []byte, whole bool, err error) {
	frame = make([]byte, headerBytes)
	n, err := io.ReadFull(r, frame)
	if err != nil {
		return frame[:n], false, err
	}
	size := binary.BigEndian.Uint32(frame)
	if size > maxFirstBytes {
		return frame, false, nil
	}
	frame = append(frame, make([]byte, size)...)
	n, err = io.ReadFull(r, frame[headerBytes:])
	return frame[:headerBytes+n], err == nil, err
}

// replay gives what was read early, then reads from the stream itself.
type replay struct {
	early []*early
	rest  io.Reader
}

func (r *replay) Read(p []byte) (int, error) {
	for len(r.early) > 0 {
		next := r.early[0]
		<-next.done
		if len(next.data) > 0 {
			n := copy(p, next.data)
			next.data = next.data[n:]
			return n, nil
		}
		if next.err != nil {
			return 0, next.err
		}
		r.early = r.early[1:]
	}
	return r.rest.Read(p)
}

// replayed is a channel whose beginning was read early.
type replayed struct {
	io.Reader
	io.WriteCloser
}
