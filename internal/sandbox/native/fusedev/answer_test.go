//go:build linux

package fusedev

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// request makes one of a kind, about a node.
func request(kind uint32, node uint64, body ...byte) []byte {
	r := make([]byte, requestHeader, requestHeader+len(body))
	binary.NativeEndian.PutUint32(r, uint32(requestHeader+len(body)))
	binary.NativeEndian.PutUint32(r[4:], kind)
	binary.NativeEndian.PutUint64(r[8:], 77) // its number
	binary.NativeEndian.PutUint64(r[16:], node)
	return append(r, body...)
}

func words(values ...uint32) []byte {
	var b []byte
	for _, value := range values {
		b = binary.NativeEndian.AppendUint32(b, value)
	}
	return b
}

// readOf is the body of a request to read, which a write shares.
func readOf(offset uint64, size uint32) []byte {
	b := binary.NativeEndian.AppendUint64(make([]byte, 8), offset)
	return append(append(b, words(size)...), make([]byte, 20)...)
}

// agreed is a server that the kernel has settled the protocol with.
func agreed(t testing.TB) *server {
	t.Helper()
	s := &server{owner: 7}
	if _, err := s.answer(request(opInit, 0, words(7, 40, 0, ^uint32(0))...), make([]byte, answerSize)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRequestsAreAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		request []byte
		errno   syscall.Errno
		body    []byte // nil: not looked at
	}{
		"reading null ends at once":              {request(opRead, 2, readOf(0, 4096)...), 0, []byte{}},
		"reading zero gives zeros":               {request(opRead, 3, readOf(1<<40, 5)...), 0, make([]byte, 5)},
		"what is written is taken":               {request(opWrite, 2, append(readOf(0, 3), "abc"...)...), 0, words(3, 0)},
		"a file is found":                        {request(opLookup, 1, []byte("null\x00")...), 0, nil},
		"another is not":                         {request(opLookup, 1, []byte("full\x00")...), unix.ENOENT, nil},
		"nor one in a file":                      {request(opLookup, 2, []byte("null\x00")...), unix.ENOENT, nil},
		"a name without an end is none":          {request(opLookup, 1, []byte("null")...), unix.ENOENT, nil},
		"a node that there is not":               {request(opGetattr, 99), unix.ENOENT, nil},
		"a size is accepted":                     {request(opSetattr, 2, words(1<<3)...), 0, nil},
		"another mode is not":                    {request(opSetattr, 2, words(1<<0)...), unix.EPERM, nil},
		"nor another owner":                      {request(opSetattr, 3, words(1<<1|1<<3)...), unix.EPERM, nil},
		"nor anything of the folder":             {request(opSetattr, 1, words(1<<5)...), unix.EPERM, nil},
		"a file opens past the page cache":       {request(opOpen, 2, words(0, 0)...), 0, words(0, 0, openDirect, 0)},
		"a folder does not open as a file":       {request(opOpen, 1, words(0, 0)...), unix.EIO, nil},
		"nor a file as a folder":                 {request(opOpendir, 2, words(0, 0)...), unix.EIO, nil},
		"reading the folder as a file":           {request(opRead, 1, readOf(0, 10)...), unix.EIO, nil},
		"listing from far past the end":          {request(opReaddir, 1, readOf(1<<63, 4096)...), 0, []byte{}},
		"listing into too little room":           {request(opReaddir, 1, readOf(0, 8)...), 0, []byte{}},
		"a read that is cut off":                 {request(opRead, 3, 1, 2, 3), unix.EIO, nil},
		"a write that says more than it has":     {request(opWrite, 2, append(readOf(0, 4000), "abc"...)...), unix.EIO, nil},
		"a write that says less":                 {request(opWrite, 2, append(readOf(0, 1), "abc"...)...), unix.EIO, nil},
		"a write that is cut off":                {request(opWrite, 2, 1), unix.EIO, nil},
		"attributes that are cut off":            {request(opSetattr, 2, 1), unix.EIO, nil},
		"a kind that is not supported":           {request(35, 1, make([]byte, 100)...), unix.ENOSYS, nil},
		"a kind that does not exist":             {request(1<<31, 1), unix.ENOSYS, nil},
		"no more is read than fits into answers": {request(opRead, 3, readOf(0, ^uint32(0))...), 0, make([]byte, transfer)},
	} {
		t.Run(name, func(t *testing.T) {
			answer := bytes.Repeat([]byte{0xee}, answerSize) // of an earlier one
			n, err := agreed(t).answer(c.request, answer)
			if err != nil {
				t.Fatal(err)
			}
			errno := syscall.Errno(-int32(binary.NativeEndian.Uint32(answer[4:])))
			if errno != c.errno || int(binary.NativeEndian.Uint32(answer)) != n || binary.NativeEndian.Uint64(answer[8:]) != 77 {
				t.Errorf("%v and a header of %x, want %v", errno, answer[:answerHeader], c.errno)
			}
			if body := answer[answerHeader:n]; c.body != nil && !bytes.Equal(body, c.body) || errno != 0 && len(body) > 0 {
				t.Errorf("%d bytes, want %d", len(body), len(c.body))
			}
		})
	}
}

func TestSomeRequestsHaveNoAnswer(t *testing.T) {
	for _, kind := range []uint32{opForget, opBatchForget, opInterrupt} {
		if n, err := agreed(t).answer(request(kind, 2, make([]byte, 8)...), make([]byte, answerSize)); n != 0 || err != nil {
			t.Errorf("kind %d: %d bytes, %v", kind, n, err)
		}
	}
}

func TestRandomIsRandom(t *testing.T) {
	seen := map[string]bool{}
	for range 3 {
		for _, node := range []uint64{4, 5} {
			answer := make([]byte, answerSize)
			n, err := agreed(t).answer(request(opRead, node, readOf(0, 16)...), answer)
			if err != nil || n != answerHeader+16 {
				t.Fatalf("%d bytes, %v", n, err)
			}
			seen[string(answer[answerHeader:n])] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("of 6 reads, %d differ", len(seen))
	}
}

func TestTheFolderIsListedInPieces(t *testing.T) {
	var listed []string
	for offset := uint64(0); ; {
		answer := make([]byte, answerSize)
		n, err := agreed(t).answer(request(opReaddir, 1, readOf(offset, 70)...), answer)
		if err != nil {
			t.Fatal(err)
		}
		entries := answer[answerHeader:n]
		if len(entries) == 0 {
			break
		}
		for len(entries) > 0 {
			length := int(binary.NativeEndian.Uint32(entries[16:]))
			listed = append(listed, string(entries[24:24+length]))
			offset = binary.NativeEndian.Uint64(entries[8:])
			entries = entries[(24+length+7)&^7:]
		}
	}
	if got := strings.Join(listed, " "); got != "null zero random urandom" {
		t.Errorf("listed: %s", got)
	}
}

func TestWhatIsNoKernelEndsTheFileSystem(t *testing.T) {
	long := request(opGetattr, 1)
	binary.NativeEndian.PutUint32(long, 1000)
	for name, c := range map[string]struct {
		server  *server
		request []byte
		want    error
	}{
		"nothing":                       {agreed(t), nil, errProtocol},
		"half a header":                 {agreed(t), request(opGetattr, 1)[:20], errProtocol},
		"a wrong length":                {agreed(t), long, errProtocol},
		"a request before the protocol": {&server{}, request(opGetattr, 1), errProtocol},
		"another protocol":              {&server{}, request(opInit, 0, words(8, 0, 0, 0)...), unix.EPROTO},
		"too old a protocol":            {&server{}, request(opInit, 0, words(7, 12, 0, 0)...), unix.EPROTO},
		"a protocol that is cut off":    {&server{}, request(opInit, 0, words(7)...), unix.EPROTO},
		"the protocol a second time":    {agreed(t), request(opInit, 0, words(7, 40, 0, 0)...), unix.EPROTO},
	} {
		t.Run(name, func(t *testing.T) {
			if n, err := c.server.answer(c.request, make([]byte, answerSize)); n != 0 || !errors.Is(err, c.want) {
				t.Errorf("%d bytes and %v, want %v", n, err, c.want)
			}
		})
	}
}

func FuzzAnswer(f *testing.F) {
	for kind := uint32(1); kind < 50; kind++ {
		f.Add(kind, uint64(1), []byte("null\x00"))
		f.Add(kind, uint64(3), readOf(1, 1<<20))
	}
	f.Fuzz(func(t *testing.T, kind uint32, node uint64, body []byte) {
		if len(body) > requestSize-requestHeader {
			return // the kernel sends nothing larger
		}
		s, answer := agreed(t), make([]byte, answerSize)
		n, err := s.answer(request(kind, node, body...), answer)
		if err != nil || n == 0 {
			return
		}
		if n < answerHeader || n > answerSize || int(binary.NativeEndian.Uint32(answer)) != n {
			t.Errorf("an answer of %d bytes says it has %d", n, binary.NativeEndian.Uint32(answer))
		}
	})
}

func TestWhoAsksWithoutEndIsSlowedDown(t *testing.T) {
	var b brake
	start := time.Unix(1000, 0)
	for n := range burst {
		if d := b.delay(start); d != 0 {
			t.Fatalf("request %d waits %v", n, d)
		}
	}
	if d := b.delay(start); d != perRequest {
		t.Errorf("after a burst, a request waits %v", d)
	}
	if d := b.delay(start.Add(perRequest)); d != perRequest {
		t.Errorf("the next, %v", d)
	}
	if d := b.delay(start.Add(time.Hour)); d != 0 {
		t.Errorf("after an hour, %v", d)
	}
}
