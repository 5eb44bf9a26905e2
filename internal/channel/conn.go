package channel

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
)

// Limits are what the host accepts from the runner.
type Limits struct {
	// FrameBytes is the largest frame.
	FrameBytes int `json:"frame_bytes"`
	// EmitBytes is the largest emit value.
	EmitBytes int `json:"emit_bytes"`
	// OpenCalls is how many calls may be unanswered at once.
	OpenCalls int `json:"open_calls"`
	// MemoryBytes and OpenFiles are what the runner sets its own rlimits by; 0
	// means none. The host does not enforce them here.
	MemoryBytes int64 `json:"memory_bytes"`
	OpenFiles   int   `json:"open_files"`
}

// Hello is the runner's first frame.
type Hello struct {
	Python, Runner string
}

// Start is a program on its way to the runner.
type Start struct {
	Source, Filename string
	// Marker is what the runner writes to the output stream, decoded from hex,
	// after everything the program printed.
	Marker string
	// Tools is the tool table, a JSON array: all of it, or, when Servers is not
	// nil, the rows that the source can name.
	Tools json.RawMessage
	// Servers names the servers that have tools, when Tools is a selection.
	Servers []string
}

// Call is a request of the program.
type Call struct {
	ID        int64
	Tool      string
	Arguments json.RawMessage
}

// Done is the runner's account of how the program ended. It can be trusted no
// more than the program.
type Done struct {
	// Error is nil when the program ended without one.
	Error *ProgramError
}

// ProgramError is a program's failure as the runner tells it.
type ProgramError struct {
	Kind      string `json:"kind"`
	Type      string `json:"type"`
	Message   string `json:"message"`
	Traceback string `json:"traceback"`
	Line      int    `json:"line"`
	ExitCode  int    `json:"exit_code"`
}

// Handler receives what a program asks for. Its methods are called from one
// goroutine and must not block: while they do, nothing more is read.
type Handler interface {
	// Call takes a request; it is answered later, through Conn.Result or
	// Conn.Fail, exactly once.
	Call(Call)
	// Cancel says that the program has given up a call, which is still answered.
	// The call may have been answered already.
	Cancel(id int64)
	// Emit takes a value, valid JSON of at most Limits.EmitBytes.
	Emit(json.RawMessage)
}

// Conn is the host end of one channel. Hello, Start and Serve are called in
// that order from one goroutine; Result and Fail from any.
type Conn struct {
	r       *bufio.Reader
	w       io.Writer
	limits  Limits
	members [maxMembers]member // of the frame being read

	write sync.Mutex // held for one write

	joining sync.Mutex // guards waiting and spare
	waiting *batch     // frames that will be written together, nil if none
	spare   []byte     // memory for the frames of the next batch

	open   sync.Mutex // guards lastID and calls
	lastID int64
	calls  map[int64]struct{} // unanswered
}

// New returns the host end over rw. Closing what rw belongs to is the
// caller's, and is how a blocked read or write is ended.
func New(rw io.ReadWriter, limits Limits) *Conn {
	return &Conn{
		r:      bufio.NewReaderSize(rw, 64<<10),
		w:      rw,
		limits: limits,
		calls:  make(map[int64]struct{}),
	}
}

// Hello waits for the runner's first frame. io.EOF means that the runner ended
// without sending one; an error wrapping ErrViolation, that it is not ours.
func (c *Conn) Hello() (Hello, error) {
	body, err := readFrame(c.r, 4<<10)
	if err != nil {
		return Hello{}, err
	}
	f, err := decode(body, c.members[:])
	if err != nil {
		return Hello{}, err
	}
	if f.kind != "hello" {
		return Hello{}, violation("%.40q frame before hello", f.kind)
	}
	values, err := f.take("protocol", "python", "runner")
	if err != nil {
		return Hello{}, err
	}
	protocol, err := idValue(values[0])
	if err != nil {
		return Hello{}, violation("hello frame: protocol: %v", err)
	}
	var h Hello
	for i, target := range []*string{&h.Python, &h.Runner} {
		if *target, err = stringValue(values[i+1]); err != nil {
			return Hello{}, violation("hello frame: %v", err)
		}
	}
	if protocol != Protocol {
		return Hello{}, violation("the runner speaks version %d of the channel, this ptc-mcp version %d; rebuild the sandbox image", protocol, Protocol)
	}
	return h, nil
}

// Start sends a program.
func (c *Conn) Start(s Start) error {
	tools := s.Tools
	if len(tools) == 0 {
		tools = json.RawMessage("[]")
	}
	head, err := json.Marshal(struct {
		Type     string         `json:"type"`
		Protocol int            `json:"protocol"`
		Source   string         `json:"source"`
		Filename string         `json:"filename"`
		Marker   string         `json:"marker"`
		Servers  []string       `json:"servers"`
		Limits   Limits         `json:"limits"`
		Options  map[string]any `json:"options"`
	}{"start", Protocol, s.Source, s.Filename, s.Marker, s.Servers, c.limits, map[string]any{}})
	if err != nil {
		return fmt.Errorf("channel: start: %w", err)
	}
	// The table is spliced in, not marshalled: it is large and ready.
	head = append(head[:len(head)-1], `,"tools":`...)
	return c.send(false, head, tools, []byte{'}'})
}

// Serve hands every request to h until the program is done. io.EOF means that
// the sandbox ended first; an error wrapping ErrViolation, that it must be
// killed.
func (c *Conn) Serve(h Handler) (Done, error) {
	for {
		body, err := readFrame(c.r, c.limits.FrameBytes)
		if err != nil {
			return Done{}, err
		}
		f, err := decode(body, c.members[:])
		if err != nil {
			return Done{}, err
		}
		switch f.kind {
		case "call":
			call, err := c.takeCall(f)
			if err != nil {
				return Done{}, err
			}
			h.Call(call)
		case "cancel":
			id, err := c.takeCancel(f)
			if err != nil {
				return Done{}, err
			}
			h.Cancel(id)
		case "emit":
			values, err := f.take("value")
			if err != nil {
				return Done{}, err
			}
			if n := len(values[0]); n > c.limits.EmitBytes {
				return Done{}, violation("emit value of %d bytes; the limit is %d", n, c.limits.EmitBytes)
			}
			h.Emit(values[0])
		case "done":
			return takeDone(f)
		default:
			return Done{}, violation("unexpected %.40q frame", f.kind)
		}
	}
}

func (c *Conn) takeCall(f fields) (Call, error) {
	values, err := f.take("id", "tool", "arguments")
	if err != nil {
		return Call{}, err
	}
	call := Call{Arguments: values[2]}
	if call.ID, err = idValue(values[0]); err != nil {
		return Call{}, violation("call: %v", err)
	}
	if call.Tool, err = stringValue(values[1]); err != nil {
		return Call{}, violation("call %d: tool: %v", call.ID, err)
	}
	if call.Tool == "" || len(call.Tool) > maxToolBytes {
		return Call{}, violation("tool name of %d bytes; it must have 1 to %d", len(call.Tool), maxToolBytes)
	}
	if call.Arguments[0] != '{' {
		return Call{}, violation("call %d: arguments are not an object", call.ID)
	}
	c.open.Lock()
	defer c.open.Unlock()
	if call.ID <= c.lastID || call.ID > maxID {
		return Call{}, violation("call id %d after %d; ids must grow and stay below 2^53", call.ID, c.lastID)
	}
	if len(c.calls) >= c.limits.OpenCalls {
		return Call{}, violation("more than %d calls open at once", c.limits.OpenCalls)
	}
	c.lastID = call.ID
	c.calls[call.ID] = struct{}{}
	return call, nil
}

func (c *Conn) takeCancel(f fields) (int64, error) {
	values, err := f.take("id")
	if err != nil {
		return 0, err
	}
	id, err := idValue(values[0])
	if err != nil {
		return 0, violation("cancel: %v", err)
	}
	c.open.Lock()
	defer c.open.Unlock()
	if id < 1 || id > c.lastID {
		return 0, violation("cancel of call %d, which was never made", id)
	}
	return id, nil
}

func takeDone(f fields) (Done, error) {
	values, err := f.take("outcome", "error")
	if err != nil {
		return Done{}, err
	}
	outcome, err := stringValue(values[0])
	if err != nil {
		return Done{}, violation("done frame: outcome: %v", err)
	}
	var done Done
	if err := json.Unmarshal(values[1], &done.Error); err != nil {
		return Done{}, violation("done frame: error: %v", err)
	}
	switch {
	case outcome == "ok" && done.Error == nil, outcome == "error" && done.Error != nil:
		return done, nil
	}
	return Done{}, violation("done frame with outcome %.40q and error %v", outcome, done.Error != nil)
}

// Result answers the call with a value, which must be valid JSON. It blocks
// until the frame is written, so that a sandbox that does not read holds back
// its own calls instead of filling the host's memory.
func (c *Conn) Result(id int64, value json.RawMessage) error {
	head := strconv.AppendInt([]byte(`{"type":"result","id":`), id, 10)
	head = append(head, `,"value":`...)
	return c.reply(id, head, value, []byte{'}'})
}

// Fail answers the call with an error.
func (c *Conn) Fail(id int64, kind, message string, retryable bool) error {
	head, err := json.Marshal(struct {
		Type      string `json:"type"`
		ID        int64  `json:"id"`
		Kind      string `json:"kind"`
		Message   string `json:"message"`
		Retryable bool   `json:"retryable"`
	}{"error", id, kind, message, retryable})
	if err != nil {
		return fmt.Errorf("channel: error frame: %w", err)
	}
	return c.reply(id, head, nil, nil)
}

var errAnswered = errors.New("channel: no such open call")

// reply closes the call before its answer is written: the runner may act on
// the answer, and count the place as free, before the write has returned here.
func (c *Conn) reply(id int64, head, value, tail []byte) error {
	c.open.Lock()
	_, there := c.calls[id]
	delete(c.calls, id)
	more := len(c.calls) > 0
	c.open.Unlock()
	if !there {
		return fmt.Errorf("%w: %d", errAnswered, id)
	}
	return c.send(more, head, value, tail)
}

// batch is frames that go out in one write. It grows while an earlier write is
// under way.
type batch struct {
	frames []byte
	done   chan struct{} // closed when they are written
	err    error
}

// send writes one frame and returns when that is done. more says that others
// may be about to be sent.
func (c *Conn) send(more bool, head, value, tail []byte) error {
	n := len(head) + len(value) + len(tail)
	if n >= joinBelow {
		return c.sendLarge(n, head, value, tail)
	}
	c.joining.Lock()
	b := c.waiting
	first := b == nil
	if first {
		b = &batch{frames: c.spare[:0], done: make(chan struct{})}
		c.waiting, c.spare = b, nil
	}
	b.frames, _ = appendHeader(b.frames, n) // it is below joinBelow
	b.frames = append(append(append(b.frames, head...), value...), tail...)
	c.joining.Unlock()
	if !first {
		<-b.done
		return b.err
	}

	if more {
		// Answers come in bursts, and a write costs more than all the rest of
		// an answer: let those that are ready join.
		runtime.Gosched()
	}
	c.write.Lock()
	c.joining.Lock()
	c.waiting = nil // whoever comes now begins the next
	c.joining.Unlock()
	_, b.err = c.w.Write(b.frames)
	c.joining.Lock()
	if cap(b.frames) <= maxSpare {
		c.spare = b.frames
	}
	c.joining.Unlock()
	c.write.Unlock()
	close(b.done)
	return b.err
}

func (c *Conn) sendLarge(n int, head, value, tail []byte) error {
	start, err := appendHeader(make([]byte, 0, headerBytes+len(head)), n)
	if err != nil {
		return err
	}
	c.write.Lock()
	defer c.write.Unlock()
	for _, part := range [][]byte{append(start, head...), value, tail} {
		if len(part) == 0 {
			continue
		}
		if _, err := c.w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
