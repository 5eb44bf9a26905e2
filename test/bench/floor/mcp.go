package floor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// MCP is the least that a client of an MCP server over stdio can be: it finds
// the id of an answer, and decodes nothing. Safe for concurrent use.
type MCP struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	Start  time.Duration // from the start of the process to the answer to initialize
	ended  chan struct{}
	writes sync.Mutex

	mu      sync.Mutex
	last    int
	waiting map[int]chan<- reply
}

// reply is what is known of an answer.
type reply struct {
	length int // of its line
	err    error
}

// NewMCP starts a server and shakes hands.
func NewMCP(ctx context.Context, command string, args ...string) (*MCP, error) {
	m := &MCP{cmd: exec.CommandContext(ctx, command, args...), ended: make(chan struct{}), waiting: map[int]chan<- reply{}}
	var err error
	if m.stdin, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	go m.read(stdout)
	if _, err := m.Request(ctx, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1"}}`); err != nil {
		m.Close()
		return nil, err
	}
	m.Start = time.Since(begin)
	_, err = io.WriteString(m.stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return m, err
}

// Close ends the server.
func (m *MCP) Close() error {
	_ = m.stdin.Close()
	<-m.ended
	return m.cmd.Wait()
}

var idKey = []byte(`"id":`)

// read hands out the answers, each a line. A line is read into one buffer, and
// only what is new of it is searched for its end.
func (m *MCP) read(stdout io.Reader) {
	defer close(m.ended)
	buffer := make([]byte, 64<<10)
	filled := 0
	for {
		n, err := stdout.Read(buffer[filled:])
		start, end := 0, filled+n
		for searched := filled; ; {
			at := bytes.IndexByte(buffer[searched:end], '\n')
			if at < 0 {
				break
			}
			at += searched
			m.answer(buffer[start:at])
			start, searched = at+1, at+1
		}
		if err != nil {
			return
		}
		filled = copy(buffer, buffer[start:end])
		if filled == len(buffer) {
			buffer = append(buffer, make([]byte, 3*len(buffer))...)
		}
	}
}

func (m *MCP) answer(line []byte) {
	// The id stands before a result, and after an error, which is short.
	_, rest, found := bytes.Cut(line[:min(len(line), 4<<10)], idKey)
	if !found {
		return // a notification
	}
	digits := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	id, err := strconv.Atoi(string(rest[:digits]))
	if err != nil {
		return
	}
	m.mu.Lock()
	answer := m.waiting[id]
	delete(m.waiting, id)
	m.mu.Unlock()
	if answer == nil {
		return
	}
	r := reply{length: len(line)}
	if bytes.Contains(line[:min(len(line), 64)], []byte(`"error":`)) {
		r.err = fmt.Errorf("the server answered %.200s", line)
	}
	answer <- r
}

// Request sends a request and returns the length of the line that answers it.
func (m *MCP) Request(ctx context.Context, method, params string) (int, error) {
	answer := make(chan reply, 1)
	m.mu.Lock()
	m.last++
	id := m.last
	m.waiting[id] = answer
	m.mu.Unlock()
	line := fmt.Appendf(make([]byte, 0, 96+len(params)), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":%q,\"params\":%s}\n", id, method, params)
	m.writes.Lock()
	_, err := m.stdin.Write(line)
	m.writes.Unlock()
	if err != nil {
		return 0, err
	}
	select {
	case r := <-answer:
		return r.length, r.err
	case <-m.ended:
		return 0, errors.New("the server ended")
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

const echo = `{"name":"echo","arguments":{"message":"hello"}}`

// Echo is the time of n echo calls, at most width at once.
func (m *MCP) Echo(ctx context.Context, n, width int) (time.Duration, error) {
	errs := make([]error, width)
	var wg sync.WaitGroup
	begin := time.Now()
	for worker := range width {
		share := n / width
		if worker < n%width {
			share++
		}
		wg.Go(func() {
			for range share {
				if _, err := m.Request(ctx, "tools/call", echo); err != nil {
					errs[worker] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begin), errors.Join(errs...)
}

// Blob is the time until the whole of a result of so many bytes has been read.
func (m *MCP) Blob(ctx context.Context, size int) (time.Duration, error) {
	begin := time.Now()
	n, err := m.Request(ctx, "tools/call", fmt.Sprintf(`{"name":"blob","arguments":{"size":%d}}`, size))
	if err == nil && n < size {
		err = fmt.Errorf("blob: %d bytes came of %d", n, size)
	}
	return time.Since(begin), err
}
