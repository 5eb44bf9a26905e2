"""The zygote: an interpreter that has booted once, and forks a run for every request.

It stands in the template of a sandbox, with the rights to enter namespaces that
the supervisor has made. No program ever runs in it. A request makes two
processes: the run's first, which enters the namespaces, gives up every right
and then only waits; and the runner, which is what a program sees. Of all that
is open here, the runner keeps its three streams.

Few modules are imported, since every program finds them loaded. System calls
go through ctypes: the oldest supported Python has no names for them.

Arguments: the numbers of the calls; the system call filter in hexadecimal; what
to run here, once; what to run in every runner.
"""

import _socket
import ctypes
import gc
import os
import resource
import select
import signal
import struct
import sys

NOBODY = 65534  # in a run, and in the namespace of the zygote

CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_INTO_CGROUP = 0x200000000
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION = 0x20080522
SECCOMP_SET_MODE_FILTER = 1

# Descriptors of the zygote, as the supervisor places them.
REQUESTS, PROC = 3, 4
# Descriptors of a run's first process, after its streams. Each takes the place
# of one of the zygote's, which a run must not have.
CONTROL, SCORE, RULES = 3, 4, 5


class Refused(Exception):
    """The kernel has refused a step."""


class Kernel:
    """System calls by name."""

    def __init__(self, numbers):
        names = "clone3 setns unshare pidfd_open prctl capset seccomp landlock close_range".split()
        self._numbers = {name: ctypes.c_long(int(n)) for name, n in zip(names, numbers.split())}
        # PyDLL keeps the interpreter's lock: the child of a clone must hold it.
        self._syscall = ctypes.PyDLL(None, use_errno=True).syscall
        self._syscall.restype = ctypes.c_long

    def attempt(self, name, *arguments):
        """Make a call; -1 is a refusal."""
        return self._syscall(
            self._numbers[name],
            *[a if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments],
        )

    def call(self, name, *arguments, to):
        """Make a call that must succeed. What it is to do goes into the error."""
        result = self.attempt(name, *arguments)
        if result < 0:
            raise Refused(to, ctypes.get_errno())
        return result


class Request:
    """What a run gets: lines of a word and numbers, and descriptors in a fixed order."""

    def __init__(self, text, descriptors):
        self.descriptors = descriptors
        self.limits, self.late_limits, self.processors = [], [], []
        count = {"tasks": 0, "group": 0, "rules": 0}
        self.rule_flags = 0
        for line in text.decode().splitlines():
            word, *rest = line.split()
            numbers = [int(n) for n in rest]
            if word == "limit":
                self.limits.append(numbers)
            elif word == "late":
                self.late_limits.append(numbers)
            elif word == "processors":
                self.processors = numbers
            elif word == "flags":
                self.rule_flags = numbers[0]
            else:
                count[word] = numbers[0]
        take = iter(descriptors)
        self.streams = [next(take) for _ in range(3)]
        self.control = next(take)
        self.tasks = [next(take) for _ in range(count["tasks"])]  # files of cgroups to enter
        self.group = next(take) if count["group"] else -1  # a cgroup to be born in
        self.namespaces = [next(take) for _ in range(4)]
        self.rules = next(take) if count["rules"] else -1  # Landlock's


class First:
    """The first process of a run."""

    def __init__(self, kernel, filter_):
        self._kernel = kernel
        self._instructions = ctypes.create_string_buffer(filter_, len(filter_))
        # struct sock_fprog
        self._filter = struct.pack("@HP", len(filter_) // 8, ctypes.addressof(self._instructions))

    def live(self, request):
        """Set up the run, fork the runner, wait for its end. Returns in the runner alone."""
        try:
            os.dup2(request.control, CONTROL)
            self._announce()
            self._enter(request)
            self._confine(request)
            runner = self._fork()
            if runner == 0:
                self._become_runner(request)
                return
            # The outputs stay open: they end when all of the run has ended.
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.write(CONTROL, b'{"Kind":"started"}\n')
            os.write(CONTROL, reap(runner))
        except BaseException as error:
            report_failure(CONTROL, error)
        os._exit(0)

    def _announce(self):
        """Give the host a handle on this process, to kill the run by."""
        handle = self._kernel.call("pidfd_open", os.getpid(), 0, to="open a handle")
        socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, CONTROL)
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("@i", handle))
        socket.sendmsg([b"\n"], [rights])
        socket.detach()

    def _enter(self, request):
        for tasks in request.tasks:
            # 0 is this thread. The kernel waits for others when it moves others.
            os.write(tasks, b"0")
        for namespace in request.namespaces:
            self._kernel.call("setns", namespace, 0, to="enter a namespace")
        kinds = CLONE_NEWUSER | CLONE_NEWCGROUP
        self._kernel.call("unshare", kinds, to="make a user namespace")
        # Only who may be traced owns its files in /proc. Nobody can trace it:
        # this process is alone in its namespace.
        self._kernel.call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0, to="own files in /proc")
        for file, text in (
            ("setgroups", b"deny"),
            ("gid_map", b"%d %d 1" % (NOBODY, NOBODY)),
            ("uid_map", b"%d %d 1" % (NOBODY, NOBODY)),
        ):
            descriptor = os.open("self/" + file, os.O_WRONLY, dir_fd=PROC)
            os.write(descriptor, text)
        score = os.open("self/oom_score_adj", os.O_RDWR, dir_fd=PROC)
        self._kernel.call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0, to="forbid tracing")

        kept = RULES if request.rules >= 0 else SCORE
        places = [*request.streams, CONTROL, score, request.rules]
        for place, descriptor in enumerate(places[: kept + 1]):
            if place != descriptor:
                os.dup2(descriptor, place)
        self._close_from(kept + 1)
        os.chdir("/scratch")

    def _confine(self, request):
        for kind, value in request.limits:
            resource.setrlimit(kind, (value, value))
        if request.processors:
            os.sched_setaffinity(0, request.processors)
        capability = 0
        while self._kernel.attempt("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
            capability += 1  # up to the last that this kernel knows
        if capability == 0:
            raise Refused("drop the bounding set", ctypes.get_errno())
        call = self._kernel.call
        clear = PR_CAP_AMBIENT_CLEAR_ALL
        call("prctl", PR_CAP_AMBIENT, clear, 0, 0, 0, to="drop ambient capabilities")
        call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, to="set no_new_privs")
        if request.rules >= 0:
            call("landlock", RULES, request.rule_flags, to="restrict paths by Landlock")
        header = struct.pack("@Ii", CAPABILITY_VERSION, 0)
        call("capset", header, bytes(24), to="drop capabilities")
        call("seccomp", SECCOMP_SET_MODE_FILTER, 0, self._filter, to="load the system call filter")

    def _fork(self):
        # Programs shall die first when memory runs out. Going back to the own
        # score needs no right.
        own = os.read(SCORE, 16)
        os.pwrite(SCORE, b"1000", 0)
        for number in (signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        runner = os.fork()
        if runner:
            os.pwrite(SCORE, own, 0)
        return runner

    def _become_runner(self, request):
        os.setsid()
        self._close_from(3)
        for kind, value in request.late_limits:
            resource.setrlimit(kind, (value, value))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        gc.enable()

    def _close_from(self, lowest):
        self._kernel.call("close_range", lowest, (1 << 32) - 1, 0, to="close descriptors")


def reap(runner):
    """Collect every orphan until the runner has ended, and say how it did."""
    pid = 0
    while pid != runner:
        pid, status = os.wait()
    if os.WIFSIGNALED(status):
        return b'{"Kind":"ended","Code":-1,"Signal":%d}\n' % os.WTERMSIG(status)
    return b'{"Kind":"ended","Code":%d}\n' % os.WEXITSTATUS(status)


def report_failure(control, error):
    """Say why there is no run, in the words and escapes of a JSON string."""
    text = "".join(c if c.isalnum() or c in " .:/()_-" else "?" for c in ascii(str(error)))
    step, number = text, getattr(error, "errno", None) or 0
    if isinstance(error, Refused):
        step, number = error.args
    report = '{"Kind":"failed","Step":"%s","Errno":%d,"Error":"%s"}\n' % (step, number, text)
    try:
        os.write(control, report.encode())
    except OSError:
        pass  # nobody waits for this run any more


def serve(kernel, first):
    """Fork for every request until there are no more. Returns in runners alone."""
    socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, REQUESTS)
    socket.send(b"ready")
    while True:
        text, ancillary, _, _ = socket.recvmsg(1 << 12, _socket.CMSG_SPACE(4 * 32))
        if not text:
            os._exit(0)
        request = Request(text, [n for _, _, data in ancillary for (n,) in struct.iter_unpack("@i", data)])
        try:
            if clone(kernel, request.group) == 0:
                socket.detach()
                first.live(request)
                return
        except Refused as refused:
            report_failure(request.control, refused)
        for descriptor in request.descriptors:
            os.close(descriptor)


def clone(kernel, group):
    """Fork into a new namespace for processes and, with version 2, into a cgroup."""
    flags = CLONE_NEWPID | (CLONE_INTO_CGROUP if group >= 0 else 0)
    # struct clone_args: flags, handle, two thread ids, the signal at the end,
    # stack and size, tls, two about thread ids, cgroup
    arguments = struct.pack("@11Q", flags, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, max(group, 0))
    return kernel.call("clone3", arguments, len(arguments), to="fork")


def boot(numbers, filter_, load, program):
    """Do once what every run needs, and then serve. Returns a runner's code, in runners alone."""
    del sys.argv[1:]
    # Runs may not use it: what is loaded here must choose another way to wait.
    epoll = select.epoll
    del select.epoll
    exec(compile(load, "<string>", "exec"), {"__name__": "__main__"})
    select.epoll = epoll
    code = compile(program, "<string>", "exec")
    kernel = Kernel(numbers)
    kernel.call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0, to="forbid tracing")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies, and nobody to ask for them
    first = First(kernel, bytes.fromhex(filter_))
    # Shared pages stay shared as long as nothing is written to them.
    gc.collect()
    gc.freeze()
    gc.disable()
    serve(kernel, first)
    return code


def run(code, namespace):
    """Run a program where this module was."""
    for name in [name for name in namespace if not name.startswith("__")]:
        del namespace[name]
    exec(code, namespace)


run(boot(*sys.argv[1:]), globals())
