//go:build linux

package native

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// An attack is a program that prints "done" when it succeeds.
type attack struct {
	name, program string
	// byRoot is true where an ordinary user may not do it outside either.
	byRoot bool
}

// call is a program that makes one system call, which must not fail.
func call(number int, arguments string) string {
	return fmt.Sprintf(`
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
buffer = ctypes.create_string_buffer(4096)
if libc.syscall(ctypes.c_long(%d), %s) >= 0:
    print("done")
else:
    print(os.strerror(ctypes.get_errno()))
`, number, arguments)
}

// socket is a program that makes a socket of one family.
func socket(family, kind int) string {
	return fmt.Sprintf("import socket\nsocket.socket(%d, %d)\nprint('done')", family, kind)
}

func attacks(t *testing.T) []attack {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	port := listener.Addr().(*net.TCPAddr).Port
	named, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = named.Close() })
	abstract, err := net.Listen("unix", fmt.Sprintf("@ptc-mcp-test-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = abstract.Close() })
	t.Setenv("PTC_MCP_SECRET", "secret")

	return []attack{
		{name: "connect over TCP", program: fmt.Sprintf("import socket\nsocket.create_connection(('127.0.0.1', %d))\nprint('done')", port)},
		{name: "send over UDP", program: "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))\nprint('done')"},
		{name: "IPv6 socket", program: socket(unix.AF_INET6, unix.SOCK_STREAM)},
		{name: "netlink socket", program: socket(unix.AF_NETLINK, unix.SOCK_RAW)},
		{name: "packet socket", program: socket(unix.AF_PACKET, unix.SOCK_RAW), byRoot: true},
		{name: "connect to a named socket of the host", program: fmt.Sprintf("import socket\nsocket.socket(socket.AF_UNIX).connect(%q)\nprint('done')", named.Addr().String())},
		{name: "connect to an abstract socket of the host", program: fmt.Sprintf("import socket\nsocket.socket(socket.AF_UNIX).connect('\\0%s')\nprint('done')", strings.TrimPrefix(abstract.Addr().String(), "@"))},
		{name: "read a host file", program: fmt.Sprintf("print('done' if open(%q).read() == 'secret' else '')", secret)},
		{name: "see whether a host file exists", program: fmt.Sprintf("import os\nprint('done' if os.path.exists(%q) else '')", secret)},
		{name: "read the user list", program: "print('done' if open('/etc/passwd').read() else '')"},
		{name: "see /proc", program: "import os\nprint('done' if os.path.exists('/proc/self/status') else '')"},
		{name: "see /sys", program: "import os\nprint('done' if os.path.exists('/sys/kernel') else '')"},
		{name: "read the environment", program: "import os\nprint('done' if os.environ.get('PTC_MCP_SECRET') else '')"},
		{name: "signal a host process", program: fmt.Sprintf("import os\nos.kill(%d, 0)\nprint('done')", os.Getpid())},
		{name: "trace a child", program: `
import os, signal
child = os.fork()
if child == 0:
    signal.pause()
` + call(unix.SYS_PTRACE, fmt.Sprintf("ctypes.c_long(%d), ctypes.c_long(child), None, None", unix.PTRACE_SEIZE)) + `
os.kill(child, signal.SIGKILL)`},
		{name: "read the memory of a child", program: `
import os, signal
child = os.fork()
if child == 0:
    signal.pause()
import ctypes
class iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
here, there = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
local = iovec(ctypes.addressof(here), 8)
remote = iovec(ctypes.addressof(there), 8)
` + call(unix.SYS_PROCESS_VM_READV, "ctypes.c_long(child), ctypes.byref(local), 1, ctypes.byref(remote), 1, 0") + `
os.kill(child, signal.SIGKILL)`},
		{name: "mount", program: "import os\nos.mkdir('m')\n" + call(unix.SYS_MOUNT, "b'x', b'm', b'tmpfs', ctypes.c_long(0), None") + "libc.umount2(b'm', 2)", byRoot: true},
		{name: "open a mount", program: call(unix.SYS_OPEN_TREE, "ctypes.c_long(-100), b'/', ctypes.c_long(1)"), byRoot: true},
		{name: "make a user namespace", program: call(unix.SYS_UNSHARE, fmt.Sprintf("ctypes.c_long(%d)", unix.CLONE_NEWUSER))},
		{name: "clone into a user namespace", program: `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
child = libc.syscall(ctypes.c_long(` + fmt.Sprint(unix.SYS_CLONE) + `), ctypes.c_long(` + fmt.Sprint(unix.CLONE_NEWUSER|int(unix.SIGCHLD)) + `), None, None, None, None)
if child == 0:
    os._exit(0)
print("done" if child > 0 else "")`},
		{name: "change the root", program: "import os\nos.chroot('/')\nprint('done')", byRoot: true},
		{name: "become root", program: "import os\nos.setuid(0)\nprint('done')", byRoot: true},
		{name: "make a device", program: "import os, stat\nos.mknod('null', stat.S_IFCHR | 0o666, os.makedev(1, 3))\nprint('done')", byRoot: true},
		{name: "keep a key in the kernel", program: call(unix.SYS_ADD_KEY, "b'user', b'name', b'payload', ctypes.c_size_t(7), ctypes.c_long(-2)")},
		{name: "io_uring", program: call(unix.SYS_IO_URING_SETUP, "ctypes.c_long(8), buffer")},
		{name: "userfaultfd", program: call(unix.SYS_USERFAULTFD, "ctypes.c_long(1)"), byRoot: true},
		{name: "load a BPF map", program: "import ctypes, struct\n" + strings.Replace(call(unix.SYS_BPF, "ctypes.c_long(0), buffer, ctypes.c_long(72)"), "if libc", "buffer.raw = struct.pack('IIII', 2, 4, 8, 1) + bytes(4080)\nif libc", 1), byRoot: true},
		{name: "count performance", program: "import struct\n" + strings.Replace(call(unix.SYS_PERF_EVENT_OPEN, "buffer, ctypes.c_long(0), ctypes.c_long(-1), ctypes.c_long(-1), ctypes.c_long(0)"), "if libc", "buffer.raw = struct.pack('IIQ', 1, 112, 0) + bytes(4080)\nif libc", 1), byRoot: true},
		{name: "memory that only it can see", program: call(unix.SYS_SHMGET, "ctypes.c_long(0), ctypes.c_size_t(4096), ctypes.c_long(0o1600)")},
		{name: "run a program from the scratch folder", program: `
import os, shutil, subprocess
with open("script", "w") as f:
    f.write("#!" + os.sys.executable + " -S\nprint('done')")
os.chmod("script", 0o755)
subprocess.run(["./script"])`},
		{name: "a core file", program: `
import resource
print("done" if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0 else "")`},
	}
}

func TestAttacksThatWorkOutsideFailInside(t *testing.T) {
	for _, a := range attacks(t) {
		t.Run(a.name, func(t *testing.T) {
			if !a.byRoot || os.Geteuid() == 0 {
				if out := outside(t, a.program); !strings.Contains(out, "done") {
					t.Fatalf("it does not even work without a sandbox: %q", out)
				}
			}
			if out, _, status := inside(t, a.program, sandbox.Spec{}); strings.Contains(out, "done") {
				t.Errorf("it worked: %q, %+v", out, status)
			}
		})
	}
}

func TestTheRootHoldsWhatPythonNeedsAndNothingElse(t *testing.T) {
	out, errors, _ := inside(t, `
import os
print(sorted(os.listdir("/dev")), os.getcwd(), os.listdir("."), os.getuid(), os.getgid(), dict(os.environ), os.uname().nodename)
`, sandbox.Spec{})
	want := "['null', 'random', 'urandom', 'zero'] /scratch [] 65534 65534 {} sandbox\n"
	if out != want {
		t.Errorf("got %q %q, want %q", out, errors, want)
	}
}

func TestTheHostsRootIsNotBeneathTheSandboxs(t *testing.T) {
	for name, b := range map[string]*backend{"forked": newTestBackend(t, stubborn), "plain": newPlainBackend(t, stubborn)} {
		i, err := b.Start(t.Context(), sandbox.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = i.Close() })
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", firstPid(t, i.(*instance))))
		if err != nil {
			t.Fatal(err)
		}
		var roots []string
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); fields[4] == "/" {
				roots = append(roots, line)
			}
		}
		if len(roots) != 1 {
			t.Errorf("%s: mounted at /: %q", name, roots)
		}
	}
}

func TestTheStandardLibraryWorksInside(t *testing.T) {
	program := `
import asyncio, bz2, concurrent.futures, csv, ctypes, datetime, decimal, hashlib, json, lzma, os, random, re, shutil
import sqlite3, ssl, statistics, subprocess, sys, tempfile, threading, time, uuid, zlib, zoneinfo
assert hashlib.sha256(b"x").hexdigest()[:4] == "2d71"
assert sqlite3.connect(":memory:").execute("select 1").fetchone() == (1,)
sqlite3.connect("file.db").execute("create table t (a)")
with tempfile.NamedTemporaryFile() as f:
    f.write(b"x")
shutil.copy2("file.db", "copy.db"); os.mkdir("sub"); os.rename("copy.db", "sub/copy.db")
out = subprocess.run([sys.executable, "-I", "-S", "-c", "print(6 * 7)"], capture_output=True, text=True)
assert out.stdout == "42\n", out
async def main():
    assert await asyncio.to_thread(lambda: 1) == 1
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", "print(1)", stdout=subprocess.PIPE)
    assert (await process.communicate())[0] == b"1\n"
asyncio.run(main())
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert sum(pool.map(len, ["a"] * 100)) == 100
thread = threading.Thread(target=time.sleep, args=(10000,), daemon=True); thread.start()
os.urandom(8); random.random(); uuid.uuid4()
open("/dev/null", "w").write("x")
datetime.datetime.now(zoneinfo.ZoneInfo("Europe/Berlin"))
print("fine")
`
	if out := outside(t, program); out != "fine\n" {
		t.Fatalf("the program does not even work outside: %q", out)
	}
	if out, errors, status := inside(t, program, sandbox.Spec{}); out != "fine\n" {
		t.Errorf("got %q, %+v:\n%s", out, status, errors)
	}
}

func TestInstalledPackagesStayOutside(t *testing.T) {
	state, err := machineOnce()
	if err != nil {
		t.Fatal(err)
	}
	for _, mask := range state.layout.masks {
		out, errors, _ := inside(t, fmt.Sprintf("import os\nprint(os.listdir(%q))", mask), sandbox.Spec{})
		if out != "[]\n" {
			t.Errorf("%s holds %q %q", mask, out, errors)
		}
	}
}

func TestOnlyTheStreamsAreOpenInside(t *testing.T) {
	// A descriptor that this process itself was given and may not pass on.
	file, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if _, err := unix.FcntlInt(file.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	out, errors, _ := inside(t, `
import os
open_ones = []
for fd in range(1024):
    try:
        os.fstat(fd)
        open_ones.append(fd)
    except OSError:
        pass
print(open_ones)
`, sandbox.Spec{OpenFiles: 1024})
	if out != "[0, 1, 2]\n" {
		t.Errorf("open inside: %q %q", out, errors)
	}
}

func TestTheSmallestMemoryIsEnoughToBoot(t *testing.T) {
	out, errors, status := inside(t, "import asyncio, json\nprint('fine')", sandbox.Spec{MemoryBytes: sandbox.MinMemoryBytes})
	if out != "fine\n" {
		t.Errorf("got %q %+v:\n%s", out, status, errors)
	}
}

func TestLimitsCannotBeRaised(t *testing.T) {
	out, errors, _ := inside(t, `
import resource
for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_CORE):
    soft, hard = resource.getrlimit(limit)
    assert soft == hard, (limit, soft, hard)
    try:
        resource.setrlimit(limit, (hard + 1, hard + 1))
        print("raised", limit)
    except (ValueError, OSError):
        pass
`, sandbox.Spec{})
	if out != "" || errors != "" {
		t.Errorf("got %q %q", out, errors)
	}
}
