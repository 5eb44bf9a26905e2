package docker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

func piece(stream byte, text string) string {
	header := make([]byte, attachHeaderBytes)
	header[0] = stream
	binary.BigEndian.PutUint32(header[4:], uint32(len(text)))
	return string(header) + text
}

func TestDemultiplex(t *testing.T) {
	for _, c := range []struct {
		name, stream, out, err string
		end                    error
	}{
		{"pieces of both streams", piece(1, "a") + piece(2, "x") + piece(1, "b") + piece(2, "") + piece(2, "y"), "ab", "xy", io.EOF},
		{"nothing", "", "", "", io.EOF},
		{"a header cut short", piece(1, "a") + "\x01\x00", "a", "", io.ErrUnexpectedEOF},
		{"a piece cut short", piece(1, "whole")[:10], "wh", "", io.ErrUnexpectedEOF},
		{"a stream that does not exist", piece(1, "a") + piece(3, "b"), "a", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr := newBuffer(), newBuffer()
			err := demultiplex(strings.NewReader(c.stream), stdout, stderr)
			if c.end != nil && !errors.Is(err, c.end) || err == nil {
				t.Errorf("got %v, want %v", err, c.end)
			}
			stdout.end(io.EOF)
			stderr.end(io.EOF)
			gotOut, _ := io.ReadAll(stdout)
			gotErr, _ := io.ReadAll(stderr)
			if string(gotOut) != c.out || string(gotErr) != c.err {
				t.Errorf("got %q and %q, want %q and %q", gotOut, gotErr, c.out, c.err)
			}
		})
	}
}

func TestABufferHoldsItsWriterUpUntilItIsRead(t *testing.T) {
	b := newBuffer()
	whole := bytes.Repeat([]byte("0123456789"), bufferBytes/4)
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = b.Write(whole)
		b.end(io.EOF)
	}()
	first := make([]byte, 100)
	if _, err := io.ReadFull(b, first); err != nil {
		t.Fatal(err)
	}
	if isClosed(written) {
		t.Error("the writer was not held up")
	}
	rest, err := io.ReadAll(b)
	if err != nil || !bytes.Equal(append(first, rest...), whole) {
		t.Errorf("got %d bytes, %v, want the %d that were written", len(first)+len(rest), err, len(whole))
	}
	<-written
}

func TestAReleasedBufferKeepsWhatIsInFlightAndDropsTheRest(t *testing.T) {
	b := newBuffer()
	_, _ = b.Write(make([]byte, bufferBytes))
	blocked := make(chan struct{})
	go func() {
		defer close(blocked)
		_, _ = b.Write(make([]byte, 10))
	}()
	b.release()
	<-blocked
	_, _ = b.Write(make([]byte, 2*lateBytes)) // never blocks
	b.end(io.EOF)
	kept, err := io.ReadAll(b)
	if err != nil || len(kept) != lateBytes {
		t.Errorf("kept %d bytes, %v, want %d", len(kept), err, lateBytes)
	}
}
