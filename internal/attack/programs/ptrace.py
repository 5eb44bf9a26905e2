# Title: take over another process
# Tries: ptrace, process_vm_readv, kcmp and pidfd_getfd on a process of the host, and on a child of its own.
# Seen: every call refused: a child cannot be used to take over the runner either.
import signal

SEIZE, DETACH, TRACEME = 0x4206, 17, 0


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def seize(pid):
    syscall("ptrace", SEIZE, pid, 0, 0)
    return "traced"


def traceme():
    syscall("ptrace", TRACEME, 0, 0, 0)
    return "traced by its parent"


def read_memory(pid, address):
    here = ctypes.create_string_buffer(4)
    local = Vector(ctypes.addressof(here), 4)
    remote = Vector(address, 4)
    return syscall("process_vm_readv", pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) == 4 and "its memory was read"


def take_descriptor(pid):
    handle = syscall("pidfd_open", pid, 0)
    try:
        os.close(syscall("pidfd_getfd", handle, 0, 0))
        return "its descriptor was taken"
    finally:
        os.close(handle)


def compare(pid):
    syscall("kcmp", pid, pid, 0, 0, 0)
    return "its descriptors were compared"


def on_child(function):
    def run():
        child = os.fork()
        if child == 0:
            signal.pause()
            os._exit(0)
        try:
            return function(child)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    return run


marker = ctypes.create_string_buffer(b"mark")
for name, function in (("trace", seize), ("compare", compare)):
    attempt(name + " a process of the host", lambda: in_child(lambda: function(BAIT["pid"])), root=True)
    attempt(name + " a child", on_child(function))
attempt("read memory of the host", lambda: read_memory(BAIT["pid"], BAIT["map"]), root=True)
attempt("read memory of a child", on_child(lambda child: read_memory(child, ctypes.addressof(marker))))
attempt("take a descriptor of the host", lambda: take_descriptor(BAIT["pid"]), root=True)
attempt("take a descriptor of a child", on_child(take_descriptor))
attempt("be traced", lambda: in_child(traceme))
report()
