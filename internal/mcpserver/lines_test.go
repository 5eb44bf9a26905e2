package mcpserver

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLineReaderBoundsWhatItKeeps(t *testing.T) {
	tests := []struct {
		name, input string
		want        []string
	}{
		{"nothing", "", nil},
		{"lines", "one\ntwo\n", []string{"one\n", "two\n"}},
		{"a last line without an end", "one\ntwo", []string{"one\n", "two"}},
		{"a line of exactly the limit", "123456789\nx\n", []string{"123456789\n", "x\n"}},
		{"a line over the limit", "1234567890\nx\n", []string{"(too long)", "x\n"}},
		{"a last line over the limit without an end", "x\n" + strings.Repeat("y", 200000), []string{"x\n", "(too long)"}},
		{"a line over the reader's buffer", strings.Repeat("y", 200000) + "\nx\n", []string{"(too long)", "x\n"}},
	}
	for _, test := range tests {
		for how, input := range map[string]io.Reader{
			"at once":     strings.NewReader(test.input),
			"byte a time": iotest.OneByteReader(strings.NewReader(test.input)),
		} {
			t.Run(test.name+" "+how, func(t *testing.T) {
				lines := newLineReader(input, 10)
				var got []string
				for {
					line, err := lines.next()
					if errors.Is(err, io.EOF) {
						break
					}
					if errors.Is(err, errLineTooLong) {
						line = []byte("(too long)")
					} else if err != nil {
						t.Fatal(err)
					}
					got = append(got, string(line))
				}
				if strings.Join(got, "|") != strings.Join(test.want, "|") {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		}
	}
}

func TestLineWriterStopsAtTheFirstFailure(t *testing.T) {
	var failures int
	w := &lineWriter{w: iotest.TruncateWriter(io.Discard, 0), onError: func(error) { failures++ }}
	w.write([]byte("fine"))
	w.w = brokenWriter{}
	w.write([]byte("one"), []byte("two"))
	w.write([]byte("three"))
	if failures != 1 {
		t.Errorf("%d failures reported, want 1", failures)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
