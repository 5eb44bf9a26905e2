"""What every attack has: the bait that the host laid out, and its account of what it tried.

The host puts this before each program. An attempt succeeds when its function returns something true.
"""

import ctypes
import errno
import fcntl
import json
import os
import stat
import struct
import sys
import time

BAIT = json.loads("{}")
ATTEMPTS = []


class Absent(Exception):
    """What the attempt is aimed at does not exist on this system."""


def attempt(what, function, root=False):
    """Try something. root: outside a sandbox, only root may do it."""
    succeeded, code = False, ""
    try:
        got = function()
        succeeded, detail = bool(got), str(got or "did not work")
    except Absent as reason:
        code, detail = "ABSENT", str(reason)
    except OSError as error:
        cause = error
        while isinstance(getattr(cause, "reason", None), Exception):  # urllib wraps the kernel's error
            cause = cause.reason
        number = getattr(cause, "errno", None)
        code = errno.errorcode.get(number, "")
        detail = code or str(cause) or type(cause).__name__
    except Exception as error:
        detail = type(error).__name__ + ": " + str(error)
    ATTEMPTS.append({"what": what, "succeeded": succeeded, "detail": detail[:200], "errno": code, "root": root})
    return succeeded


def report():
    """Print the account, as the one line of JSON that the host looks for."""
    worked = [a for a in ATTEMPTS if a["succeeded"]]
    told = worked or ATTEMPTS
    detail = "; ".join(a["what"] + ": " + a["detail"] for a in told[:3]) or "gained nothing"
    if len(told) > 3:
        detail += "; and %d more" % (len(told) - 3)
    account = {"attack": BAIT["attack"], "succeeded": bool(worked), "detail": detail, "attempts": ATTEMPTS}
    sys.stdout.flush()
    os.write(1, b"\n" + json.dumps(account).encode() + b"\n")


LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long

# The numbers of system calls on x86-64 and on 64-bit ARM.
NUMBERS = {
    "accept": (43, 202), "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bpf": (321, 280),
    "capset": (126, 91), "chroot": (161, 51), "clock_settime": (227, 112), "clone": (56, 220), "clone3": (435, 435),
    "delete_module": (176, 106), "epoll_create1": (291, 20), "eventfd2": (290, 19), "execveat": (322, 281),
    "fanotify_init": (300, 262), "fsopen": (430, 430),
    "init_module": (175, 105), "io_setup": (206, 0), "io_uring_setup": (425, 425), "kcmp": (312, 272),
    "kexec_load": (246, 104), "keyctl": (250, 219), "memfd_secret": (447, 447), "mount": (165, 40),
    "move_mount": (429, 429), "mq_open": (240, 180), "msgget": (68, 186), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241),
    "personality": (135, 92), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434), "pivot_root": (155, 41),
    "process_vm_readv": (310, 270), "ptrace": (101, 117), "quotactl": (179, 60), "reboot": (169, 142),
    "request_key": (249, 218), "semget": (64, 190), "sethostname": (170, 161), "setns": (308, 268),
    "signalfd4": (289, 74), "timerfd_create": (283, 85), "shmget": (29, 194), "splice": (275, 76), "swapon": (167, 224), "syslog": (103, 116), "umount2": (166, 39),
    "unshare": (272, 97), "userfaultfd": (323, 282), "vmsplice": (278, 75),
}


def syscall(name, *arguments):
    """Make a system call past the C library; a failure is an OSError."""
    column = {"x86_64": 0, "aarch64": 1, "arm64": 1}.get(os.uname().machine)
    if not sys.platform.startswith("linux") or column is None:
        raise Absent("no system call " + name + " known here")
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = LIBC.syscall(ctypes.c_long(NUMBERS[name][column]), *values)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def allowed(name, *arguments):
    """Make a system call that gives a descriptor or nothing, and undo it."""
    result = syscall(name, *arguments)
    return "%s returned %d" % (name, result)


def past_check(function, *errors):
    """Make a call with arguments that can do no harm: these errors come after the check of rights."""
    try:
        function()
    except OSError as error:
        if error.errno not in errors:
            raise
        return "its rights were accepted (%s)" % errno.errorcode[error.errno]
    return "done"


def in_child(function):
    """Do something in a forked child, and return what it returns."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = "+" + str(function() or "")
        except OSError as error:
            text = "-%d" % (error.errno or 0)
        except BaseException as error:
            text = "!" + type(error).__name__ + ": " + str(error)
        os.write(writing, text.encode()[:4096])
        os._exit(0)
    os.close(writing)
    text = b""
    while True:
        chunk = os.read(reading, 4096)
        if not chunk:
            break
        text += chunk
    os.close(reading)
    status = os.waitpid(child, 0)[1]
    text = text.decode()
    if os.WIFSIGNALED(status) and not text:
        raise RuntimeError("the child was ended by signal %d" % os.WTERMSIG(status))
    if text.startswith("-"):
        raise OSError(int(text[1:]), os.strerror(int(text[1:])))
    if text.startswith("!"):
        raise RuntimeError(text[1:])
    return text[1:]


def token_in(path, size=65536):
    """Read a file and say whether it holds what only the host's bait holds."""
    with open(path, "rb") as file:
        return path if BAIT["token"].encode() in file.read(size) else ""


def same_as_host(path):
    """Say whether a path names the very object that it names on the host."""
    known = BAIT["objects"].get(path)
    if known is None:
        raise Absent("the host has none")
    seen = os.stat(path)
    return path if f"{seen.st_ino}:{seen.st_ctime_ns}" == known else ""


def channel():
    """Find the descriptors that frames travel on: (in, out)."""
    printed = {(os.fstat(fd).st_dev, os.fstat(fd).st_ino) for fd in (1, 2)}
    incoming = outgoing = -1
    for fd in range(3, 4096):
        try:
            info, mode = os.fstat(fd), fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE
        except OSError:
            continue
        if not (stat.S_ISFIFO(info.st_mode) or stat.S_ISSOCK(info.st_mode)) or (info.st_dev, info.st_ino) in printed:
            continue
        if mode in (os.O_RDONLY, os.O_RDWR):
            incoming = fd
        if mode in (os.O_WRONLY, os.O_RDWR):
            outgoing = fd
    if incoming < 0 or outgoing < 0:
        raise RuntimeError("no channel found")
    return incoming, outgoing


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]


def send(descriptor, frame):
    """Write one frame of the channel: a length, then a JSON object."""
    payload = json.dumps(frame).encode()
    write_all(descriptor, struct.pack(">I", len(payload)) + payload)


def locks_of_the_other(paths, seconds=3):
    """Lock one half of some files and look for the other run's locks on the other half, in both ways there are.

    The halves are taken by role, so both runs of a pair must name the same files in the same order. Those that cannot
    be opened are left out. Locks are shared ones, held until the end; a look takes none that stays.
    """
    opened, known = [], set()
    for path in paths:
        fd = -1
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            identity = (os.fstat(fd).st_dev, os.fstat(fd).st_ino)
            if identity in known:  # its own lock, by another name
                os.close(fd)
                fd = -1
            known.add(identity)
        except OSError:
            pass
        opened.append(fd)
    looks = {"flock": flock_seen, "fcntl": record_lock_seen}
    found = {way: [] for way in looks}
    mine = [fd for fd in opened[BAIT["role"]::2] if fd >= 0]
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not all(found.values()):
        for fd in mine:
            for lock in (fcntl.flock, fcntl.lockf):
                try:
                    lock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    pass  # looked at this very moment, or without such locks
        for path, fd in list(zip(paths, opened))[1 - BAIT["role"]::2]:
            for way, seen in looks.items():
                if fd >= 0 and path not in found[way] and seen(fd):
                    found[way].append(path)
        time.sleep(0.05)
    if all(found.values()):
        time.sleep(1)  # to be seen, too
    for fd in opened:
        if fd >= 0:
            os.close(fd)
    return found


def flock_seen(fd):
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(fd, fcntl.LOCK_UN)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def record_lock_seen(fd):
    """Ask for what stands against a lock for writing, which needs no right to write."""
    # struct flock: type and whence come first on Linux, last on macOS.
    layout, place = ("hhqqi4x", 0) if sys.platform.startswith("linux") else ("qqihh", 3)
    question = [0] * 5
    question[place] = fcntl.F_WRLCK
    try:
        answer = fcntl.fcntl(fd, fcntl.F_GETLK, struct.pack(layout, *question))
    except OSError:
        return False
    return struct.unpack(layout, answer)[place] != fcntl.F_UNLCK
