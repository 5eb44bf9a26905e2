package sandboxtest

import (
	"encoding/json"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// count runs a program that prints a number on the channel.
func (s suite) count(program string, limits sandbox.Spec) (n int64) {
	s.Helper()
	e := s.run(program, limits)
	if err := json.Unmarshal([]byte(e.frames), &n); err != nil {
		s.Fatalf("the program printed no number: %+v", e)
	}
	return n
}

func limits() []testCase {
	return []testCase{
		{"the process limit counts threads and processes", func(s suite) {
			if !s.capabilities().Processes {
				return // not claimed
			}
			for what, program := range map[string]string{
				"threads": `
import os, threading
n, never = 0, threading.Event()
try:
    while n < 200:
        threading.Thread(target=never.wait).start()
        n += 1
except RuntimeError:
    pass
os.write(1, b"%d" % n)
os._exit(0)`,
				"processes": `
import os, time
n = 0
try:
    while n < 200:
        if os.fork() == 0:
            time.sleep(10000)
        n += 1
except OSError:
    pass
os.write(1, b"%d" % n)
os._exit(0)`,
			} {
				if n := s.count(program, sandbox.Spec{Processes: 20}); n < 10 || n > 20 {
					s.Errorf("%d %s could be started under a limit of 20", n, what)
				}
			}
		}},
		{"the scratch folder holds no more than its bytes", func(s suite) {
			if !s.capabilities().Scratch {
				return // not claimed
			}
			const limit = 4 << 20
			n := s.count(`
import errno, os
n = 0
try:
    with open("bytes", "wb", buffering=0) as f:
        while n < 64 << 20:
            n += f.write(b"x" * 65536)
except OSError as e:
    assert e.errno == errno.ENOSPC, e
print(n)`, sandbox.Spec{ScratchBytes: limit})
			if n < limit/2 || n > limit {
				s.Errorf("%d bytes fit into a scratch folder of %d", n, limit)
			}
		}},
		{"the scratch folder holds no more than some thousand files", func(s suite) {
			if !s.capabilities().Scratch {
				return // not claimed
			}
			const limit = 4 << 20
			n := s.count(`
import os
n = 0
try:
    while n < 100000:
        os.close(os.open(str(n), os.O_CREAT))
        n += 1
except OSError:
    pass
print(n)`, sandbox.Spec{ScratchBytes: limit})
			if n < 100 || n > limit/1024 {
				s.Errorf("%d empty files fit into a scratch folder of %d bytes", n, limit)
			}
		}},
		{"the memory limit counts all processes together", func(s suite) {
			if !s.capabilities().Memory {
				return // not claimed
			}
			// Each child alone stays below the limit; together they do not. Only
			// those count that still live when all have tried.
			n := s.count(`
import os
children = []
for _ in range(6):
    up, down = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(up[0]); os.close(down[1])
        hoard = b"x" * (24 << 20)
        os.write(up[1], b"y")
        os.read(down[0], 1)
        os._exit(0)
    os.close(up[1]); os.close(down[0])
    children.append((child, up[0], down[1]))
for _, up, _ in children:
    os.read(up, 1)
for _, _, down in children:
    os.close(down)
print(sum(os.waitpid(child, 0)[1] == 0 for child, _, _ in children))`, sandbox.Spec{MemoryBytes: 96 << 20})
			if n < 1 || n > 4 {
				s.Errorf("%d processes of 24 MB lived under a limit of 96 MB", n)
			}
		}},
		{"the limit of open files", func(s suite) {
			if !s.capabilities().Isolated {
				return // the unconfined backend sets none
			}
			n := s.count(`
import errno, os
n = 0
try:
    while n < 1000:
        os.dup(0)
        n += 1
except OSError as e:
    assert e.errno == errno.EMFILE, e
os.write(1, b"%d" % n)`, sandbox.Spec{OpenFiles: 50})
			if n < 30 || n > 50 {
				s.Errorf("%d more files could be opened under a limit of 50", n)
			}
		}},
	}
}
