//go:build linux

package native

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/native/fusedev"
)

// usesOfDevices prints a line for each way to use them that programs know. The
// same must come out whether they are device nodes or stand in for them.
const usesOfDevices = `
import asyncio, os, select, shutil, subprocess, sys

def say(what, use):
    try:
        print(what, use())
    except OSError as error:
        print(what, type(error).__name__)

def written(path, mode):
    with open(path, mode) as file:
        return file.write("x" * 1000000 if "b" not in mode else b"x" * 1000000)

def ready(poll):
    null = os.open(os.devnull, os.O_RDWR)
    try:
        return poll(null)
    finally:
        os.close(null)

def watched(null):
    poll = select.poll()
    poll.register(null, select.POLLIN | select.POLLOUT)
    return [events for _, events in poll.poll(10000)] == [select.POLLIN | select.POLLOUT]

def child():
    program = "import sys\nprint(repr(sys.stdin.read()))\nsys.stderr.write('unseen')"
    return subprocess.run([sys.executable, "-I", "-S", "-c", program], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

async def children():
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", "print('unseen')",
                                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return await process.wait()

def copied(source, target):
    shutil.copyfile(source, target)
    return os.stat(target).st_size

def drawn(path):
    draws = set()
    for _ in range(20):
        with open(path, "rb") as file:
            draws.add(file.read(16))
    return len(draws)

say("listed", lambda: sorted(os.listdir("/dev")))
say("read", lambda: open(os.devnull).read())
say("written", lambda: written(os.devnull, "w"))
say("appended", lambda: written(os.devnull, "a"))
say("written and read", lambda: written(os.devnull, "r+b"))
say("no terminal", lambda: open(os.devnull).isatty())
say("selected", lambda: ready(lambda null: [len(ready) for ready in select.select([null], [null], [], 10)]))
say("polled", lambda: ready(watched))
say("child", child)
say("children", lambda: asyncio.run(children()))
open("file", "w").write("text")
say("copied to", lambda: copied("file", os.devnull))
say("copied from", lambda: copied(os.devnull, "file"))
say("zeros", lambda: open("/dev/zero", "rb", 0).read(1000000) == bytes(1000000))
say("zeros far away", lambda: os.pread(os.open("/dev/zero", os.O_RDONLY), 10, 1 << 40))
say("zeros written", lambda: written("/dev/zero", "wb"))
say("random", lambda: drawn("/dev/random"))
say("urandom", lambda: drawn("/dev/urandom"))
say("much random", lambda: len(set(open("/dev/urandom", "rb", 0).read(200000))))
say("another mode", lambda: os.chmod(os.devnull, 0o600))
say("removed", lambda: os.unlink(os.devnull))
say("renamed", lambda: os.rename(os.devnull, "/dev/zero"))
say("made", lambda: open("/dev/full", "x"))
say("another", lambda: open("/dev/full"))
`

const usesSeen = `listed ['null', 'random', 'urandom', 'zero']
read 
written 1000000
appended 1000000
written and read 1000000
no terminal False
selected [1, 1, 0]
polled True
child b"''\n"
children 0
copied to 0
copied from 0
zeros True
zeros far away b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'
zeros written 1000000
random 20
urandom 20
much random 256
`

func TestDevicesAreOfUse(t *testing.T) {
	for name, b := range map[string]*backend{
		"forked": newTestBackend(t, usesOfDevices),
		"booted": newPlainBackend(t, usesOfDevices),
	} {
		t.Run(name, func(t *testing.T) {
			i, err := b.Start(t.Context(), sandbox.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = i.Close() })
			out := readAll(t, i)
			refused, ok := strings.CutPrefix(out, usesSeen)
			if !ok {
				t.Errorf("got:\n%s\nwant:\n%s", out, usesSeen)
			}
			if n := strings.Count(refused, "Error\n"); ok && (n != 5 || strings.Count(refused, "\n") != n) {
				t.Errorf("allowed: %s", refused)
			}
		})
	}
}

// TestDevicesAreServedWhereNoneCanBeMade for whoever may use FUSE.
func TestDevicesAreServedWhereNoneCanBeMade(t *testing.T) {
	state, err := machineOnce()
	if err != nil {
		t.Fatal(err)
	}
	want := hostDevices
	switch {
	case state.user.privileged:
		want = madeDevices
	case unix.Access(fusedev.Device, unix.R_OK|unix.W_OK) == nil:
		want = servedDevices
	}
	if state.devices != want || state.capabilities().OwnDevices != (want != hostDevices) {
		t.Errorf("devices come from %d, want %d (%v)", state.devices, want, state.noFUSE)
	}
}

// TestWithoutFUSEProbeSaysSo has a device that is another.
func TestWithoutFUSEProbeSaysSo(t *testing.T) {
	own, err := machineOnce()
	if err != nil {
		t.Fatal(err)
	}
	for name, off := range map[string]bool{"forked": false, "booted": true} {
		t.Run(name, func(t *testing.T) {
			b := newBackend("", slog.New(slog.DiscardHandler))
			b.zygotes.off = off
			t.Cleanup(func() { _ = b.Close() })
			state := *own
			state.devices, state.fuse = servedDevices, os.DevNull
			if err := b.try(t.Context(), &state, own.python); err != nil {
				t.Fatal(err)
			}
			is := state.capabilities()
			if is.OwnDevices || !strings.Contains(strings.Join(is.Warnings, "\n"), "chmod 0666 /dev/fuse") {
				t.Errorf("own devices: %v, warnings: %q", is.OwnDevices, is.Warnings)
			}
		})
	}
}

// TestRunsEndWhoseDevicesAreServedNoMore kills who serves, the supervisor, while
// a program asks it for more.
func TestRunsEndWhoseDevicesAreServedNoMore(t *testing.T) {
	const program = `
import os
zero = os.open("/dev/zero", os.O_RDONLY)
os.write(1, b"started")
while True:
    os.read(zero, 1 << 20)
`
	for name, b := range map[string]*backend{
		"forked": newTestBackend(t, program),
		"booted": newPlainBackend(t, program),
	} {
		t.Run(name, func(t *testing.T) {
			i, err := b.Start(t.Context(), sandbox.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = i.Close() })
			if _, err := io.ReadFull(i.Channel(), make([]byte, len("started"))); err != nil {
				t.Fatal(err)
			}
			supervisor := i.(*instance)
			if isForked(i) {
				z, _ := zygoteOf(t, b)
				supervisor = z.base
			}
			pid := firstPid(t, supervisor)
			for _, signal := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
				if err := unix.Kill(pid, signal); err != nil {
					t.Fatal(err)
				}
			}
			readAll(t, i)
			if status, err := i.Wait(); err != nil || status.Reason != sandbox.Signalled {
				t.Errorf("got %+v, %v", status, err)
			}
		})
	}
}
