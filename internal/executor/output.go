package executor

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// printed keeps the beginning and the end of what a program printed, and
// counts the rest. It is safe for one writer and many readers.
type printed struct {
	marker []byte
	copyTo io.Writer // may be nil
	closed chan struct{}

	mu      sync.Mutex
	head    []byte // the first max/2 bytes
	tail    []byte // what came after head, at most 2*(max/2) bytes, of which the last max/2 count
	half    int
	total   int64
	pending []byte // the beginning of a marker, perhaps
	done    bool
}

// newPrinted keeps at most max bytes. The output is complete when the marker
// has been seen or the stream has ended.
func newPrinted(max int, marker []byte, copyTo io.Writer) *printed {
	return &printed{marker: marker, copyTo: copyTo, half: max / 2, closed: make(chan struct{})}
}

// complete is closed when nothing more will come.
func (p *printed) complete() <-chan struct{} { return p.closed }

// drain reads r to its end, so that the sandbox is never blocked by its own
// output; what follows the marker is thrown away.
func (p *printed) drain(r io.Reader) {
	defer p.finish()
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			p.write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (p *printed) write(chunk []byte) {
	p.mu.Lock()
	if p.done {
		p.mu.Unlock()
		return
	}
	data := chunk
	if len(p.pending) > 0 {
		data = slices.Concat(p.pending, chunk)
		p.pending = nil
	}
	end := bytes.Index(data, p.marker)
	found := end >= 0
	if !found {
		end = len(data) - partialMarker(data, p.marker)
	}
	p.keep(data[:end])
	if !found {
		p.pending = bytes.Clone(data[end:])
	}
	p.mu.Unlock()
	p.forward(data[:end])
	if found {
		p.finish()
	}
}

// partialMarker is the length of the longest suffix of data that begins the
// marker.
func partialMarker(data, marker []byte) int {
	for n := min(len(data), len(marker)-1); n > 0; n-- {
		if bytes.HasPrefix(marker, data[len(data)-n:]) {
			return n
		}
	}
	return 0
}

func (p *printed) keep(data []byte) {
	p.total += int64(len(data))
	if room := p.half - len(p.head); room > 0 {
		n := min(room, len(data))
		p.head = append(p.head, data[:n]...)
		data = data[n:]
	}
	if len(data) > p.half {
		p.tail = append(p.tail[:0], data[len(data)-p.half:]...)
		return
	}
	if len(p.tail)+len(data) > 2*p.half {
		p.tail = append(p.tail[:0], p.tail[len(p.tail)-p.half:]...)
	}
	p.tail = append(p.tail, data...)
}

func (p *printed) forward(data []byte) {
	if p.copyTo != nil && len(data) > 0 {
		_, _ = p.copyTo.Write(data) // a lost reader must not end the run
	}
}

func (p *printed) finish() {
	p.mu.Lock()
	if p.done {
		p.mu.Unlock()
		return
	}
	p.done = true
	rest := p.pending
	p.pending = nil
	if !bytes.Equal(rest, p.marker) {
		p.keep(rest)
	}
	p.mu.Unlock()
	p.forward(rest)
	close(p.closed)
}

// snapshot is what has been printed so far.
func (p *printed) snapshot() text {
	p.mu.Lock()
	defer p.mu.Unlock()
	tail := p.tail
	if len(tail) > p.half {
		tail = tail[len(tail)-p.half:]
	}
	return text{head: string(p.head), tail: string(tail), total: p.total}
}

// text is a beginning, an end, and the number of bytes they are of.
type text struct {
	head, tail string
	total      int64
}

// whole makes a text of which nothing is missing.
func whole(s string) text { return text{head: s, total: int64(len(s))} }

// clip renders the text as valid UTF-8 of at most max bytes. When it does not
// fit, the first and the last part stay, and a line between them says how many
// bytes are gone.
func (t text) clip(max int) string {
	if t.total == int64(len(t.head)+len(t.tail)) {
		s := t.head + t.tail
		if len(s) > 2*max { // spare the clean-up of what is cut anyway
			t.head, t.tail = s[:max], s[len(s)-max:]
		} else if s = strings.ToValidUTF8(s, "\uFFFD"); len(s) <= max {
			return s
		} else {
			t.head, t.tail = s, ""
			t.total = int64(len(s))
		}
	}
	const note = "\n[… %d bytes left out …]\n"
	room := max - len(fmt.Sprintf(note, t.total))
	if room < 0 {
		return fmt.Sprintf("[%d bytes]", t.total)[:min(max, len(fmt.Sprintf("[%d bytes]", t.total)))]
	}
	head, tail := t.head, t.tail
	if tail == "" {
		tail = head
	}
	head = validPrefix(head, room-room/2)
	tail = validSuffix(tail, room/2)
	return head + fmt.Sprintf(note, t.total-int64(len(head))-int64(len(tail))) + tail
}

// validPrefix is at most n bytes of s from its start, made valid UTF-8.
func validPrefix(s string, n int) string {
	s = strings.ToValidUTF8(s[:min(len(s), n+utf8.UTFMax)], "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// validSuffix is at most n bytes of s from its end, made valid UTF-8.
func validSuffix(s string, n int) string {
	s = strings.ToValidUTF8(s[max(0, len(s)-n-utf8.UTFMax):], "\uFFFD")
	from := max(0, len(s)-n)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}
