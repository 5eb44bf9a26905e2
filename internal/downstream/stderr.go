package downstream

import (
	"bytes"
	"strings"
	"sync"
)

const (
	stderrLines    = 20
	stderrLineSize = 1000 // bytes kept of one line
)

// lastLines is an io.Writer that keeps the last lines written to it. It never
// fails and never blocks.
type lastLines struct {
	mu    sync.Mutex
	lines []string
	open  []byte // the line that has not ended yet
}

func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		l.open = append(l.open, line[:min(len(line), stderrLineSize-len(l.open))]...)
		if ended {
			l.end()
		}
		rest = after
	}
	return len(p), nil
}

func (l *lastLines) end() {
	line := strings.ToValidUTF8(strings.TrimRight(string(l.open), "\r"), "\uFFFD")
	l.open = l.open[:0]
	if len(l.lines) == stderrLines {
		l.lines = append(l.lines[:0], l.lines[1:]...)
	}
	l.lines = append(l.lines, line)
}

// String returns the lines, joined.
func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.Join(l.lines, "\n")
	if len(l.open) > 0 {
		text = strings.TrimPrefix(text+"\n"+strings.ToValidUTF8(string(l.open), "\uFFFD"), "\n")
	}
	return text
}

// lastLine returns the last line of text that is not blank: with errors, most
// often the one that says what went wrong.
func lastLine(text string) string {
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(lines[i]); line != "" {
			return line
		}
	}
	return ""
}
