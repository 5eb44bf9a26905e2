package sandboxtest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// echo sends all that it reads back on both streams, in pieces of changing
// size.
const echo = `
import os
size = 1
while piece := os.read(0, size):
    for stream in 1, 2:
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(stream, rest):]
    size = size * 2 % 262139 + 1
`

func streams() []testCase {
	return []testCase{
		{"streams carry every byte both ways", func(s suite) {
			instance := s.start(echo, spec)
			var all []byte
			for b := range 256 {
				all = append(all, byte(b))
			}
			write(s, instance, string(all))
			if err := instance.Channel().Close(); err != nil {
				s.Errorf("close channel: %v", err)
			}
			if e := s.finish(instance); e.frames != string(all) || e.output != string(all) {
				s.Errorf("got %q and %q", e.frames, e.output)
			}
		}},
		{"64 MB go each way while both streams interleave", func(s suite) { bulk(s, 64<<20) }},
		{"closing the channel ends the input and nothing else", func(s suite) {
			instance := s.start("import sys\nsys.stdin.read()\nprint('saw the end')", spec)
			if err := instance.Channel().Close(); err != nil {
				s.Errorf("close channel: %v", err)
			}
			if e := s.finish(instance); e.frames != "saw the end\n" || e.status.Reason != sandbox.Exited {
				s.Errorf("got %+v", e)
			}
		}},
		{"streams that nobody drains do not hang Close", func(s suite) {
			instance := s.start(`
import os, threading
def flood(stream):
    while True:
        os.write(stream, b"x" * 65536)
os.write(1, b"ready")
threading.Thread(target=flood, args=(1,)).start()
flood(2)
`, spec)
			s.expect(instance, "ready")
			s.close(instance)
			within(s.T, "Wait", func() {
				if status := s.wait(instance); status.Reason != sandbox.Killed {
					s.Errorf("got %v, want killed", status.Reason)
				}
			})
		}},
		{"a write that nobody reads ends with Close", func(s suite) {
			instance := s.start(waiting, spec)
			s.expect(instance, "ready")
			written := make(chan error, 1)
			go func() {
				for {
					if _, err := instance.Channel().Write(make([]byte, 1<<20)); err != nil {
						written <- err
						return
					}
				}
			}()
			s.close(instance)
			within(s.T, "the write's end", func() {
				if err := <-written; err == nil {
					s.Error("it ended without an error")
				}
			})
		}},
	}
}

// bulk sends size random bytes and holds what comes back on both streams
// against them.
func bulk(s suite, size int64) {
	instance := s.start(echo, spec)
	source := func() io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{1}), size) }
	want := sha256.New()
	_, _ = io.Copy(want, source()) // neither can fail
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := io.Copy(struct{ io.Writer }{instance.Channel()}, source()); err != nil {
			s.Errorf("write: %v", err)
		}
		if err := instance.Channel().Close(); err != nil {
			s.Errorf("close channel: %v", err)
		}
	})
	for name, stream := range map[string]io.Reader{"channel": instance.Channel(), "output": instance.Output()} {
		group.Go(func() {
			got := sha256.New()
			n, err := io.Copy(got, stream)
			if err != nil || n != size || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
				s.Errorf("%s: %d of %d bytes came back (%v), or not the same", name, n, size, err)
			}
		})
	}
	within(s.T, "all bytes", group.Wait)
	if status := s.wait(instance); status.Reason != sandbox.Exited || status.Code != 0 {
		s.Errorf("got %+v", status)
	}
}

// printed is what the programs of ends print first; small enough for a pipe.
var printed = strings.Repeat("printed before the end\n", 1000)

const printing = `
import os, signal, sys
rest = b"printed before the end\n" * 1000
while rest:
    rest = rest[os.write(2, rest):]
`

func ends() []testCase {
	cases := []struct {
		name, program string
		want          sandbox.ExitStatus
		memory        bool
	}{
		{"exit code 0", ``, sandbox.ExitStatus{Reason: sandbox.Exited}, false},
		{"exit code 7", `sys.exit(7)`, sandbox.ExitStatus{Reason: sandbox.Exited, Code: 7}, false},
		{"a signal", `os.kill(os.getpid(), signal.SIGSEGV)`, sandbox.ExitStatus{Reason: sandbox.Signalled, Code: -1, Signal: "SIGSEGV"}, false},
		{"SIGKILL from within", `os.kill(os.getpid(), signal.SIGKILL)`, sandbox.ExitStatus{Reason: sandbox.Signalled, Code: -1, Signal: "SIGKILL"}, false},
		{"too much memory", "hoard = []\nwhile True: hoard.append(b'x' * (1 << 20))", sandbox.ExitStatus{Reason: sandbox.OutOfMemory, Code: -1, Signal: "SIGKILL"}, true},
		{"a child with too much memory, handled", `
if (child := os.fork()) == 0:
    hoard = []
    while True: hoard.append(b'x' * (1 << 20))
os._exit(7 if os.waitpid(child, 0)[1] else 0)`, sandbox.ExitStatus{Reason: sandbox.Exited, Code: 7}, true},
	}
	var list []testCase
	for _, c := range cases {
		list = append(list, testCase{"output and status are kept after " + c.name, func(s suite) {
			if c.memory && !s.capabilities().Memory {
				return // not claimed
			}
			e := s.run(printing+c.program, spec)
			if e.output != printed {
				s.Errorf("got %d bytes of output, want %d", len(e.output), len(printed))
			}
			if e.status != c.want {
				s.Errorf("got %+v, want %+v", e.status, c.want)
			}
		}})
	}
	return append(list,
		testCase{"output and status are kept after Close", func(s suite) {
			instance := s.start(printing+waiting, spec)
			s.expect(instance, "ready")
			s.close(instance)
			if e := s.finish(instance); e.output != printed || e.status.Reason != sandbox.Killed {
				s.Errorf("got %d bytes of output, want %d; and %v", len(e.output), len(printed), e.status.Reason)
			}
		}},
		testCase{"children that left the session end with the first process", func(s suite) {
			e := s.run(fmt.Sprintf("import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n%s", indent(waiting)), spec)
			if e.status.Reason != sandbox.Exited || e.status.Code != 0 {
				s.Errorf("got %+v", e.status)
			}
		}},
		testCase{"orphans are reaped", func(s suite) {
			e := s.run(`
import os, time
for n in range(100):
    if (child := os.fork()) == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
    if n % 10 == 9:
        time.sleep(0.05)
print("all forked")
`, sandbox.Spec{Processes: 24})
			if e.frames != "all forked\n" {
				s.Errorf("got %+v", e)
			}
		}},
	)
}

func indent(program string) string {
	return "        " + strings.ReplaceAll(strings.TrimSpace(program), "\n", "\n        ")
}
