package downstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// event is one server-sent event (WHATWG HTML, section 9.2).
type event struct {
	name string
	data *message // nil when the event has none
}

// eventReader reads a stream of server-sent events, each within the limit.
type eventReader struct {
	br    *bufio.Reader
	limit int64

	lastID string        // of the last complete event that had one
	retry  time.Duration // the server's reconnection time, if it gave one
}

func newEventReader(r io.Reader, limit int64) *eventReader {
	return &eventReader{br: bufio.NewReaderSize(r, readBuffer), limit: limit}
}

// next returns the next event that has data. Its error is io.EOF when the
// server ended the stream; data that no blank line follows is an event too.
func (r *eventReader) next() (event, error) {
	ev := event{name: "message"}
	id, hasID := "", false
	for {
		field, value, err := r.line(&ev)
		if err != nil {
			if errors.Is(err, io.EOF) && ev.data != nil {
				return ev, nil
			}
			return event{}, err
		}
		switch field {
		case "": // a blank line ends the event
			if hasID {
				r.lastID = id
			}
			if ev.data != nil {
				return ev, nil
			}
			ev, hasID = event{name: "message"}, false
		case "event":
			ev.name = value
		case "id":
			id, hasID = value, true
		case "retry":
			if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
				r.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line reads one line. The value of a data field goes to ev piece by piece;
// those of the others come back, as far as they fit the buffer. A comment has
// the field ":".
func (r *eventReader) line(ev *event) (field, value string, err error) {
	piece, more, err := r.piece()
	if err != nil {
		return "", "", err
	}
	if len(piece) == 0 && !more {
		return "", "", nil
	}
	name, rest, _ := bytes.Cut(piece, []byte(":"))
	rest = bytes.TrimPrefix(rest, []byte(" "))
	if field = string(name); field == "" {
		field = ":"
	}
	isData := field == "data"
	if isData {
		if ev.data == nil {
			ev.data = &message{limit: r.limit}
		} else {
			_, _ = ev.data.Write([]byte("\n"))
		}
		_, _ = ev.data.Write(rest)
	} else {
		value = string(rest)
	}
	for more {
		if piece, more, err = r.piece(); err != nil {
			return "", "", err
		}
		if isData {
			_, _ = ev.data.Write(piece)
		}
	}
	return field, value, nil
}

// piece reads a line, or as much of it as the buffer holds, without its end.
func (r *eventReader) piece() (piece []byte, more bool, err error) {
	piece, err = r.br.ReadSlice('\n')
	switch {
	case err == nil:
		return bytes.TrimSuffix(piece[:len(piece)-1], []byte("\r")), false, nil
	case errors.Is(err, bufio.ErrBufferFull):
		return piece, true, nil
	case errors.Is(err, io.EOF) && len(piece) > 0:
		return piece, false, nil // the last line; the next read ends the stream
	default:
		return nil, false, err
	}
}
