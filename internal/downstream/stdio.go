package downstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// readBuffer is the size of the pieces in which streams are read.
const readBuffer = 64 << 10

// drainTime is how long the output of a process that has ended is still read.
// What it wrote is in the pipe already; only a grandchild holds it open longer.
const drainTime = 100 * time.Millisecond

// When the descendants of a process are noted, against its sudden death.
const (
	firstLook = time.Second
	nextLook  = 30 * time.Second
)

// stdioLink is a server in a process of its own, one message a line.
type stdioLink struct {
	*peer
	config  Config
	stderr  *lastLines
	process *process
	// outbox hands lines to the goroutine that writes: a server that does not
	// read blocks that one only, and everybody else as long as their context
	// lets them wait.
	outbox chan []byte
}

func newStdioLink(config Config, stderr *lastLines, handle handlers) *stdioLink {
	l := &stdioLink{peer: newPeer(config, handle), config: config, stderr: stderr, outbox: make(chan []byte)}
	l.send = l.notify
	return l
}

func (l *stdioLink) open(context.Context) error {
	p, err := startProcess(l.config, l.stderr)
	if err != nil {
		return err
	}
	l.process = p
	l.tasks.run(l.read)
	l.tasks.run(l.write)
	l.tasks.run(l.watch)
	return nil
}

func (l *stdioLink) request(ctx context.Context, call outgoing) (response, error) {
	ch, err := l.expect(call.id)
	if err != nil {
		return response{}, err
	}
	defer l.forget(call.id)
	if err := l.put(ctx, call.body); err != nil {
		return response{}, err
	}
	select {
	case r := <-ch:
		return r.response, r.lost
	case <-ctx.Done(): // mcp-go's client sends notifications/cancelled
		return response{}, ctx.Err()
	}
}

func (l *stdioLink) notify(ctx context.Context, body []byte) error { return l.put(ctx, body) }

// put hands one message to the writer. After an error nothing was sent.
func (l *stdioLink) put(ctx context.Context, body []byte) error {
	select {
	case l.outbox <- append(body, '\n'):
		return nil
	case <-l.ctx.Done():
		return brokenError(ErrDown, l.cause())
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *stdioLink) write() {
	for {
		select {
		case line := <-l.outbox:
			if _, err := l.process.stdin.Write(line); err != nil {
				// Usually the process has ended, and that says more.
				select {
				case <-time.After(2 * drainTime):
					l.fail(errors.New("server closed its standard input"))
				case <-l.ctx.Done():
				}
				return
			}
		case <-l.ctx.Done():
			return
		}
	}
}

func (l *stdioLink) read() {
	err := readLines(l.process.stdout, l.limit, l.receive)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
		err = errors.New("server closed its standard output")
	}
	// A process that ends closes its output first: its exit says more.
	select {
	case <-l.process.exited:
		err = l.process.exitError()
	case <-time.After(drainTime):
	}
	l.fail(err)
}

// readLines calls receive with each line of r until r ends.
func readLines(r io.Reader, limit int64, receive func(*message)) error {
	br := bufio.NewReaderSize(r, readBuffer)
	m := &message{limit: limit}
	for {
		piece, err := br.ReadSlice('\n')
		_, _ = m.Write(piece)
		switch {
		case err == nil:
			receive(m)
			m = &message{limit: limit}
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// watch notices the end of the process, even when a grandchild keeps its
// output open, and until then who its descendants are.
func (l *stdioLink) watch() {
	for wait := firstLook; l.process.running(wait); wait = nextLook {
		l.process.tree.remember()
	}
	if l.process.stdout.SetReadDeadline(time.Now().Add(drainTime)) != nil {
		l.fail(l.process.exitError()) // no deadlines on this system
	}
}

func (l *stdioLink) listen(func())     {}
func (l *stdioLink) setVersion(string) {}

func (l *stdioLink) close() {
	l.fail(errClosed)
	if l.process == nil {
		return
	}
	l.process.stop()
	l.tasks.close()
}
