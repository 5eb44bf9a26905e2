package downstream

import "bytes"

// message gathers one message from pieces while it is within the limit. Beyond
// it, what was gathered is dropped and only the message's id is looked for, so
// that the one call it answers can be failed. It is an io.Writer that never
// fails.
type message struct {
	limit  int64
	size   int64
	chunks [][]byte // in order; only the last one has room
	id     *idFinder
}

// maxChunk bounds what is allocated ahead of need.
const maxChunk = 256 << 10

func (m *message) Write(p []byte) (int, error) {
	m.size += int64(len(p))
	if m.id == nil && m.size > m.limit {
		m.id = &idFinder{}
		for _, chunk := range m.chunks {
			m.id.write(chunk)
		}
		m.chunks = nil
	}
	if m.id != nil {
		m.id.write(p)
		return len(p), nil
	}
	rest := p
	if last := len(m.chunks) - 1; last >= 0 {
		chunk := m.chunks[last]
		n := min(cap(chunk)-len(chunk), len(rest))
		m.chunks[last] = append(chunk, rest[:n]...)
		rest = rest[n:]
	}
	if len(rest) > 0 {
		room := len(rest)
		if m.size > int64(len(rest)) { // a second piece: more are likely
			room = max(room, int(min(m.size, maxChunk, m.limit-m.size+int64(len(rest)))))
		}
		m.chunks = append(m.chunks, append(make([]byte, 0, room), rest...))
	}
	return len(p), nil
}

// reserve makes room for n bytes at once, if they are within the limit.
func (m *message) reserve(n int64) {
	if n > 0 && n <= m.limit && len(m.chunks) == 0 {
		m.chunks = append(m.chunks, make([]byte, 0, n))
	}
}

// tooLarge reports whether the message went over the limit.
func (m *message) tooLarge() bool { return m.id != nil }

// bytes returns the message, which must not be too large.
func (m *message) bytes() []byte {
	switch len(m.chunks) {
	case 0:
		return nil
	case 1:
		return m.chunks[0]
	}
	data := bytes.Join(m.chunks, nil)
	m.chunks = [][]byte{data}
	return data
}

// idFinder reads one JSON-RPC message of any size as a stream and remembers
// only its top-level id, which may come last, and whether it has a method. It
// does not check syntax.
type idFinder struct {
	id        string // the raw id; empty until seen
	hasMethod bool

	depth    int
	inString bool
	escaped  bool
	inKey    bool   // at depth 1, before the colon
	key      string // the raw current key at depth 1
	token    []byte // the current string or scalar at depth 1
}

// maxToken bounds the keys and ids that are remembered.
const maxToken = 256

func (f *idFinder) write(p []byte) {
	for i := 0; i < len(p); i++ {
		c := p[i]
		if f.inString {
			if f.depth > 1 && !f.escaped { // nothing in here is wanted
				n := bytes.IndexAny(p[i:], `"\`)
				if n < 0 {
					return
				}
				i += n
				c = p[i]
			}
			f.stringByte(c)
			continue
		}
		switch c {
		case '"':
			f.inString = true
			f.token = f.token[:0]
			f.keep(c)
		case '{', '[':
			f.depth++
			f.inKey = f.depth == 1
			f.token = f.token[:0]
		case '}', ']':
			f.endValue()
			f.depth--
		case ',':
			f.endValue()
			f.inKey = f.depth == 1
		case ':':
			if f.depth == 1 {
				f.key = string(f.token)
				f.hasMethod = f.hasMethod || f.key == `"method"`
				f.inKey = false
				f.token = f.token[:0]
			}
		case ' ', '\t', '\r', '\n':
		default:
			f.keep(c)
		}
	}
}

func (f *idFinder) stringByte(c byte) {
	f.keep(c)
	switch {
	case f.escaped:
		f.escaped = false
	case c == '\\':
		f.escaped = true
	case c == '"':
		f.inString = false
	}
}

func (f *idFinder) keep(c byte) {
	if f.depth == 1 && len(f.token) < maxToken {
		f.token = append(f.token, c)
	}
}

func (f *idFinder) endValue() {
	if f.depth == 1 && !f.inKey && f.key == `"id"` && f.id == "" {
		f.id = string(f.token)
	}
}
