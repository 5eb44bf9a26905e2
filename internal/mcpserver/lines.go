package mcpserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
)

// errLineTooLong means that a message was over the limit. It has been skipped;
// the next one can be read.
var errLineTooLong = errors.New("message too long")

// lineReader reads messages that end with a newline, of bounded length.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next returns the next line, with its end, in memory of its own. A last line
// without an end counts. The error is errLineTooLong, or the reader's own.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > l.max; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case tooLong:
			return nil, errLineTooLong
		case err != nil && len(line) == 0:
			return nil, io.EOF
		}
		return line, nil
	}
}

// lineWriter writes whole lines, one at a time. After the first failure it
// writes nothing more.
type lineWriter struct {
	onError func(error)

	mu  sync.Mutex
	w   io.Writer
	err error
}

// write adds the newline to each line. It may change the lines' spare capacity.
func (l *lineWriter) write(lines ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range lines {
		if l.err != nil {
			return
		}
		if _, err := l.w.Write(append(line, '\n')); err != nil {
			l.err = fmt.Errorf("mcpserver: write to the client: %w", err)
			l.onError(l.err)
		}
	}
}
