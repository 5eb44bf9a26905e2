package floor

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

//go:embed probe/peer.py
var peerCode string

// Peer is a booted Python program at the other end of a channel. It is not for
// two goroutines at once.
type Peer struct {
	process Process
	in      *bufio.Reader
	body    []byte // of the frame read last
	out     []byte // frames to be written together
}

// NewPeer starts a peer and waits until it is ready.
func NewPeer(ctx context.Context, s Starter) (*Peer, error) {
	process, err := s.Start(ctx, peerCode)
	if err != nil {
		return nil, err
	}
	p := &Peer{process: process, in: bufio.NewReaderSize(process.Stdout, 64<<10)}
	if _, err := p.read(); err != nil {
		p.Close()
		return nil, fmt.Errorf("the peer did not get ready: %w", err)
	}
	return p, nil
}

// Close ends the peer.
func (p *Peer) Close() error { return p.process.Close() }

// Calls is the time of n calls that the peer makes one after the other, each
// answered at once. In its event loop it waits as programs do; without, in a
// blocking read, which is as fast as Python gets.
func (p *Peer) Calls(n int, eventLoop bool) (time.Duration, error) {
	how := "blocking"
	if eventLoop {
		how = "asyncio"
	}
	return p.order(fmt.Sprintf(`{"do":"calls","n":%d,"how":%q}`, n, how))
}

// Gather is the time of n calls that the peer makes at once.
func (p *Peer) Gather(n int) (time.Duration, error) {
	return p.order(fmt.Sprintf(`{"do":"gather","n":%d}`, n))
}

// Run is the time from sending a program until what it printed is here.
func (p *Peer) Run(source string) (time.Duration, error) {
	order, err := json.Marshal(map[string]string{"do": "run", "source": source})
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	_, err = p.order(string(order))
	return time.Since(begin), err
}

// Take is the time from sending a string of so many bytes until the peer says
// that it has parsed it.
func (p *Peer) Take(size int) (time.Duration, error) {
	value := make([]byte, 0, size+32)
	value = append(value, `{"value":"`...)
	value = append(value, bytes.Repeat([]byte{'x'}, size)...)
	value = append(value, `"}`...)
	begin := time.Now()
	if err := p.write([]byte(`{"do":"take"}`)); err != nil {
		return 0, err
	}
	if err := p.write(value); err != nil {
		return 0, err
	}
	_, err := p.read()
	return time.Since(begin), err
}

var callPrefix = []byte(`{"type":"call","id":`)

// order sends an order, answers the calls it leads to, and returns the time
// that the peer took.
func (p *Peer) order(order string) (time.Duration, error) {
	if err := p.write([]byte(order)); err != nil {
		return 0, err
	}
	for {
		body, err := p.read()
		if err != nil {
			return 0, err
		}
		rest, isCall := bytes.CutPrefix(body, callPrefix)
		if !isCall {
			var answer struct{ Seconds float64 }
			err := json.Unmarshal(body, &answer)
			return time.Duration(answer.Seconds * float64(time.Second)), err
		}
		id := rest[:bytes.IndexByte(rest, ',')]
		frame := p.out[len(p.out):]
		frame = append(frame, 0, 0, 0, 0)
		frame = append(frame, `{"type":"result","id":`...)
		frame = append(frame, id...)
		frame = append(frame, `,"value":"hello"}`...)
		binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
		p.out = append(p.out, frame...)
		if p.in.Buffered() > 0 {
			continue // those that came together are answered together
		}
		if _, err := p.process.Stdin.Write(p.out); err != nil {
			return 0, err
		}
		p.out = p.out[:0]
	}
}

// write sends one frame.
func (p *Peer) write(body []byte) error {
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	_, err := p.process.Stdin.Write(append(frame, body...))
	return err
}

// read returns the next frame, which is valid until the one after it.
func (p *Peer) read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(head[:]))
	const most = 1 << 20 // what a peer sends is small
	if length > most {
		return nil, fmt.Errorf("frame of %s bytes from the peer", strconv.Itoa(length))
	}
	p.body = append(p.body[:0], make([]byte, length)...)
	_, err := io.ReadFull(p.in, p.body)
	return p.body, err
}
