package docker_test

import (
	"context"
	"encoding/json"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker/dockertest"
)

// The settings as the engine has them, not as they were asked for.
func TestSettingsInEffect(t *testing.T) {
	backend := newBackend(t, nil)
	instance, err := backend.Start(t.Context(), sandbox.Spec{MemoryBytes: 64 << 20, CPUs: 0.5, Processes: 20, ScratchBytes: 1 << 20, OpenFiles: 50})
	if err != nil {
		t.Fatal(err)
	}
	defer instance.Close()
	name, _, _ := strings.Cut(strings.TrimPrefix(docker.Containers(t)[0], "/"), " ")
	info, err := docker.EngineClient(t).ContainerInspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	c, h := info.Config, info.HostConfig
	if h.NetworkMode != "none" || !c.NetworkDisabled || len(info.NetworkSettings.Ports) != 0 {
		t.Errorf("network: mode %s, disabled %v", h.NetworkMode, c.NetworkDisabled)
	}
	if !h.ReadonlyRootfs || h.Privileged || len(h.Binds) != 0 || len(h.Mounts) != 0 || len(info.Mounts) != 0 {
		t.Errorf("file systems: read-only %v, privileged %v, mounts %v", h.ReadonlyRootfs, h.Privileged, info.Mounts)
	}
	if !slices.Equal(h.CapDrop, []string{"ALL"}) || len(h.CapAdd) != 0 {
		t.Errorf("capabilities: without %v, with %v", h.CapDrop, h.CapAdd)
	}
	if !slices.Contains(h.SecurityOpt, "no-new-privileges") || len(h.SecurityOpt) != 2 {
		t.Errorf("security options: %d", len(h.SecurityOpt))
	}
	if h.Memory != 64<<20 || h.MemorySwap != h.Memory || h.NanoCPUs != 5e8 || *h.PidsLimit != 21 {
		t.Errorf("limits: %+v", h.Resources)
	}
	if h.OomKillDisable != nil && *h.OomKillDisable {
		t.Error("the kernel may not end it for its memory, and it would stay for ever")
	}
	if h.LogConfig.Type != "none" || c.User != "65534:65534" || c.WorkingDir != "/scratch" || len(c.Entrypoint) == 0 || len(c.Cmd) != 0 {
		t.Errorf("log %s, user %s, folder %s, %d words of command", h.LogConfig.Type, c.User, c.WorkingDir, len(c.Entrypoint)+len(c.Cmd))
	}
}

// run boots a program and returns what it sent.
func run(t *testing.T, backend *docker.Backend, program string) string {
	t.Helper()
	backend.SetProgram(program)
	instance, err := backend.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	defer instance.Close()
	output := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(instance.Output())
		output <- text
	}()
	text, err := io.ReadAll(instance.Channel())
	if err != nil {
		t.Error(err)
	}
	if printed := <-output; len(printed) > 0 {
		t.Errorf("it printed %s", printed)
	}
	return string(text)
}

func TestWithheldCallsAreRefused(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return // the numbers below are of amd64
	}
	// With arguments that make each call fail otherwise, with another error.
	got := run(t, newBackend(t, nil), `
import ctypes, errno, json
call = ctypes.CDLL(None, use_errno=True).syscall
numbers = {"io_uring_setup": 425, "ptrace": 101, "keyctl": 250, "add_key": 248, "request_key": 249, "userfaultfd": 323, "bpf": 321,
           "perf_event_open": 298, "unshare": 272, "setns": 308, "mount": 165, "pivot_root": 155, "process_vm_readv": 310,
           "open_by_handle_at": 304, "splice": 275, "personality": 135, "sync": 162, "shmget": 29, "fsopen": 430, "clone3": 435,
           "clone with a namespace": 56, "mknod of a device": 133}
arguments = {"clone with a namespace": (0x10000000 | 17, 0, 0, 0, 0), "mknod of a device": (b"device", 0o020600, 0x103)}
print(json.dumps({name: errno.errorcode[ctypes.get_errno()] if call(number, *arguments.get(name, (0, 0, 0, 0, 0))) == -1 else "allowed"
                  for name, number in numbers.items()}))`)
	var answers map[string]string
	if err := json.Unmarshal([]byte(got), &answers); err != nil || len(answers) == 0 {
		t.Fatalf("got %q: %v", got, err)
	}
	for name, answer := range answers {
		want := "EPERM"
		if name == "clone3" {
			want = "ENOSYS"
		}
		if answer != want {
			t.Errorf("%s: got %s, want %s", name, answer, want)
		}
	}
}

func TestAVolumeOfTheImageIsNoWayOut(t *testing.T) {
	client := docker.EngineClient(t)
	base := dockertest.Require(t)
	made, err := client.ContainerCreate(t.Context(), &container.Config{Image: base, Cmd: []string{"true"}}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	const tag = "ptc-mcp-test/volume:latest"
	_, err = client.ContainerCommit(t.Context(), made.ID, container.CommitOptions{Reference: tag, Changes: []string{
		"VOLUME /data", "USER root", "ENTRYPOINT [\"false\"]", "WORKDIR /data", "ENV IMAGE=1", "HEALTHCHECK --interval=1s CMD true",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if err := client.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
		if _, err := client.ImageRemove(ctx, tag, image.RemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	backend := newBackend(t, func(c *docker.Config) { c.Image = tag })
	got := run(t, backend, `
import os
try:
    open("/data/note", "w")
    print("written")
except OSError as e:
    print(e.strerror, os.getcwd(), os.getuid())`)
	if got != "Read-only file system /scratch 65534\n" {
		t.Errorf("got %q", got)
	}
	closeBackend(t, backend)
}

func TestWhatPythonNeedsIsAllowed(t *testing.T) {
	for name, program := range map[string]string{
		"threads":     "import threading\nt = threading.Thread(target=print, args=('ok',)); t.start(); t.join()",
		"subprocess":  "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(\"ok\")'], capture_output=True, text=True, check=True).stdout.strip())",
		"pools":       "import concurrent.futures as f, multiprocessing as m\nwith f.ProcessPoolExecutor(2, m.get_context('fork')) as p: print(*p.map(str, ['ok']))",
		"asyncio":     "import asyncio\nasync def main():\n    p = await asyncio.create_subprocess_exec('/bin/echo', 'ok', stdout=-1)\n    print((await p.communicate())[0].decode().strip())\nasyncio.run(main())",
		"shutil":      "import shutil\nopen('a', 'w').write('ok')\nshutil.copy2('a', 'b'); shutil.move('b', 'c'); shutil.disk_usage('.'); print(open('c').read())",
		"tempfile":    "import tempfile\nwith tempfile.TemporaryFile('w+') as f:\n    f.write('ok'); f.seek(0); print(f.read())",
		"sqlite3":     "import sqlite3\nd = sqlite3.connect('d'); d.execute('create table t (x)'); d.execute('insert into t values (?)', ('ok',)); d.commit(); print(d.execute('select x from t').fetchone()[0])",
		"memfd, fifo": "import os\nos.write(os.memfd_create('m'), b'x'); os.mkfifo('f'); print('ok')",
		"hash, ssl":   "import hashlib, ssl, secrets, uuid\nhashlib.sha256(b''); ssl.create_default_context(); secrets.token_hex(); uuid.uuid4(); print('ok')",
		"mmap, shared": "import mmap\nfrom multiprocessing import shared_memory as s\n" +
			"m = s.SharedMemory(create=True, size=64); m.buf[0] = 1; m.close(); m.unlink(); mmap.mmap(-1, 4096).close(); print('ok')",
	} {
		t.Run(name, func(t *testing.T) {
			if got := run(t, newBackend(t, nil), program); got != "ok\n" {
				t.Errorf("got %q", got)
			}
		})
	}
}
