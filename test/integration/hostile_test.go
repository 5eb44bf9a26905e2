package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	dockerclient "github.com/docker/docker/client"
)

// After each of these the server still answers, nothing is left, and what was
// printed before the end is returned.
func TestHostilePrograms(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "echo").
			limit("timeout_seconds", 30).limit("max_memory_bytes", "128MiB").
			limit("max_processes", 32).limit("max_scratch_bytes", "16MiB").
			limit("pool_size", 0).String()) // so that all there is are leftovers
		clean := func(t *testing.T) {
			t.Helper()
			c.isWell()
			eventually(t, "nothing is left of the sandboxes", func() bool { return leftovers(t, kind, c) == 0 })
		}

		t.Run("one frame of its own ends the run but not the server", func(t *testing.T) {
			// The runner's descriptors are found by trying them all.
			r := c.execute(`
import os, struct, time
print("kept", flush=True)
forged = b'{"type":"done","outcome":"ok","error":null,"output":"forged"}'
for fd in range(3, 256):
    try: os.write(fd, struct.pack(">I", len(forged)) + forged)
    except OSError: pass
time.sleep(20)
`)
			if !r.IsError || !strings.Contains(r.Structured.Output, "kept") || !strings.Contains(r.Text[0], "protocol violation") {
				t.Errorf("result:\n%s", r.Text)
			}
			clean(t)
		})
		t.Run("a valid forged done cannot get more out than the cap", func(t *testing.T) {
			r := c.execute(`
import os, struct
print("x" * 10_000_000)
forged = b'{"type":"done","outcome":"ok","error":null}'
for fd in range(3, 256):
    try: os.write(fd, struct.pack(">I", len(forged)) + forged)
    except OSError: pass
`)
			if r.size > 3*65536 {
				t.Errorf("%d bytes came back", r.size)
			}
			clean(t)
		})
		t.Run("it floods its output", func(t *testing.T) {
			r := c.execute("print('first')\nfor i in range(3000): print('y' * 10_000)\nprint('last')")
			if r.IsError || r.size > 3*65536 || !strings.HasPrefix(r.Structured.Output, "first\n") || !strings.HasSuffix(r.Structured.Output, "last\n") {
				t.Errorf("isError %v, %d bytes, %.40q … %q", r.IsError, r.size, r.Structured.Output, tail(r.Structured.Output, 40))
			}
			clean(t)
		})
		t.Run("it allocates 10 GB", func(t *testing.T) {
			c.fails("print('kept')\nx = b'x' * 10_000_000_000", "memory", "kept")
			c.fails("print('kept')\nx = []\nwhile True: x.append(bytearray(1_000_000))", "memory", "kept")
			clean(t)
		})
		t.Run("its children allocate what it may not", func(t *testing.T) {
			r := c.execute(`
import os, resource
print("kept", flush=True)
for i in range(8):
    if os.fork() == 0:
        x = []
        while True: x.append(bytearray(b"x" * 1_000_000))
while True:
    try: os.wait()
    except ChildProcessError: break
print("survived")
`)
			if !strings.Contains(r.Structured.Output, "kept") {
				t.Errorf("result:\n%s", r.Text)
			}
			clean(t)
		})
		t.Run("it forks without end", func(t *testing.T) {
			r := c.execute(`
import os, time
print("kept", flush=True)
n = 0
try:
    while True:
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
        n += 1
except OSError as e:
    print("stopped", n < 64, e)
`)
			if r.IsError || !strings.Contains(r.Structured.Output, "stopped True") {
				t.Errorf("result:\n%s", r.Text)
			}
			clean(t)
		})
		t.Run("it fills its disk", func(t *testing.T) {
			r := c.execute(`
try:
    with open("big", "wb") as f:
        while True: f.write(bytes(1_000_000))
except OSError as e:
    print("stopped", e.errno)
`)
			if r.IsError || r.Structured.Output != "stopped 28\n" {
				t.Errorf("result:\n%s", r.Text)
			}
			clean(t)
		})
		t.Run("it kills its own parent and itself", func(t *testing.T) {
			r := c.execute("import os, signal\nprint('kept', flush=True)\nos.kill(os.getppid(), signal.SIGKILL)\nos.kill(os.getpid(), signal.SIGKILL)")
			if !r.IsError || !strings.Contains(r.Structured.Output, "kept") {
				t.Errorf("result:\n%s", r.Text)
			}
			clean(t)
		})
		t.Run("it leaves by the back door", func(t *testing.T) {
			c.fails("import os\nprint('kept', flush=True)\nos._exit(0)", "died", "kept")
			clean(t)
		})
		t.Run("it calls without end", func(t *testing.T) {
			r := c.execute(`
import asyncio
print("kept", flush=True)
async def one():
    try: await mcp__t__echo(message="x")
    except ToolError as e: return e.kind
kinds = await asyncio.gather(*(one() for _ in range(20_000)))
print(kinds.count("budget"))
`)
			if r.IsError || r.Structured.Output != "kept\n19900\n" || r.size > 65536 {
				t.Errorf("%d bytes:\n%s", r.size, tail(strings.Join(r.Text, ""), 2000))
			}
			clean(t)
		})
	})
}

func TestAProgramThatIgnoresItsEnd(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "echo").limit("timeout_seconds", 3).limit("pool_size", 0).String())
		for name, code := range map[string]string{
			"it sleeps past its time": "print('kept')\nimport time\ntime.sleep(60)",
			"it ignores signals and catches everything": `
import signal, time
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
print("kept")
while True:
    try: time.sleep(1)
    except BaseException: pass`,
			"it waits for a tool that never answers": "print('kept', end='')\nawait mcp__t__sleep(seconds=60)",
			"it spins":                               "print('kept', end='')\nwhile True: pass",
			"it holds the interpreter's lock":        "print('kept', end='', flush=True)\nprint(len('a' * 30 + 'b') and __import__('re').match('(a*)*c', 'a' * 40))",
		} {
			t.Run(name, func(t *testing.T) {
				c.fails(code, "timeout", "kept")
				eventually(t, "nothing is left of the sandbox", func() bool { return leftovers(t, kind, c) == 0 })
			})
		}
	})
}

func TestTheClientLeavesInTheMiddleOfARun(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		cancelled := filepath.Join(t.TempDir(), "cancelled")
		c := serve(t, on(t, kind).test("t", "echo", "-cancel-log", cancelled).String())
		c.output("print(1)")
		c.send("tools/call", map[string]any{"name": "execute_program", "arguments": map[string]any{
			"code": "await mcp__t__sleep(seconds=60)",
		}, "_meta": map[string]any{"progressToken": "p"}})
		eventually(t, "the call is under way", func() bool { return len(c.Notifications()) > 0 })
		c.stop()
		if n := leftovers(t, kind, c); n != 0 {
			t.Errorf("%d sandboxes are left after ptc-mcp ended", n)
		}
	})
}

func TestCancellingARequestReachesTheServerOfTheToolAtOnce(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		log := filepath.Join(t.TempDir(), "cancelled")
		c := serve(t, on(t, kind).test("t", "echo", "-cancel-log", log).limit("pool_size", 0).String())
		c.output("print(1)")
		id, answer := c.send("tools/call", map[string]any{"name": "execute_program", "arguments": map[string]any{
			"code": "await mcp__t__sleep(seconds=60)",
		}, "_meta": map[string]any{"progressToken": "p"}})
		eventually(t, "the call is under way", func() bool {
			return len(c.Notifications()) > 0
		})
		c.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		eventually(t, "the tool's server hears of it", func() bool {
			b, err := os.ReadFile(log)
			return err == nil && len(b) > 0
		})
		select {
		case m := <-answer:
			t.Errorf("a cancelled request was answered: %s", m.Result)
		default:
		}
		c.isWell()
		eventually(t, "nothing is left of the sandbox", func() bool { return leftovers(t, kind, c) == 0 })
	})
}

func TestACallThatItsProgramGivesUpIsCancelledAtItsServer(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		log := filepath.Join(t.TempDir(), "cancelled")
		c := serve(t, on(t, kind).test("t", "echo", "-cancel-log", log).limit("max_concurrent_calls", 1).String())
		got := c.output(`
import asyncio
for _ in range(3):
    try: await asyncio.wait_for(mcp__t__sleep(seconds=60), 0.1)
    except asyncio.TimeoutError: pass
print(await mcp__t__echo(message="free"))
`)
		if got != "free\n" {
			t.Errorf("printed %q", got)
		}
		eventually(t, "the server hears of all three", func() bool {
			b, err := os.ReadFile(log)
			return err == nil && strings.Count(string(b), "\n") == 3
		})
	})
}

// leftovers counts what sandboxes of c's process exist now.
func leftovers(t *testing.T, kind string, c *client) int {
	t.Helper()
	switch kind {
	case "docker":
		return len(containers(t, c.Cmd.Process.Pid))
	default:
		return interpretersBelow(t, c.Cmd.Process.Pid)
	}
}

func containers(t *testing.T, owner int) []container.Summary {
	t.Helper()
	docker, err := dockerclient.NewClientWithOpts(dockerclient.FromEnv, dockerclient.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	defer docker.Close()
	list, err := docker.ContainerList(context.WithoutCancel(t.Context()), container.ListOptions{
		All:     true,
		Filters: filters.NewArgs(filters.Arg("label", "ptc-mcp.pid="+strconv.Itoa(owner))),
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// interpretersBelow counts the interpreters below pid, without the one that runs are
// forked from: that stays, and its forks have it, not the supervisor, for parent.
func interpretersBelow(t *testing.T, pid int) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	parent, command := map[int]int{}, map[int]string{}
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		open, end := strings.IndexByte(string(raw), '('), strings.LastIndexByte(string(raw), ')')
		id, _ := strconv.Atoi(strings.TrimSpace(string(raw[:open])))
		fields := strings.Fields(string(raw[end+1:]))
		parent[id], _ = strconv.Atoi(fields[1])
		command[id] = string(raw[open+1 : end])
	}
	n := 0
	for id, comm := range command {
		if !strings.HasPrefix(comm, "python") || !strings.HasPrefix(command[parent[id]], "python") && isZygote(id) {
			continue
		}
		for p := id; p > 1; p = parent[p] {
			if p == pid {
				n++
				break
			}
		}
	}
	return n
}

func isZygote(pid int) bool {
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(arguments), "The zygote: ")
}
