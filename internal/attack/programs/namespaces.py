# Title: make or enter namespaces
# Tries: unshare and clone with every namespace flag, clone3 whose flags no filter can see, setns into the host's.
# Seen: every call refused: new namespaces give root-only kernel code to everybody.
import signal

FLAGS = {
    "user": 0x10000000, "mount": 0x00020000, "cgroup": 0x02000000, "uts": 0x04000000, "ipc": 0x08000000,
    "pid": 0x20000000, "net": 0x40000000, "time": 0x80,
}


def unsharing(flag):
    def unshare():
        syscall("unshare", flag)
        return "a new namespace"

    return lambda: in_child(unshare)


def cloning(flag):
    def clone():
        child = syscall("clone", flag | signal.SIGCHLD, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return "a child in a new namespace"

    return lambda: in_child(clone)


def clone3():
    child = syscall("clone3", ctypes.create_string_buffer(struct.pack("<8Q", FLAGS["user"], 0, 0, 0, signal.SIGCHLD, 0, 0, 0)), 64)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "a child in a new namespace"


def entering(kind):
    def enter():
        fd = os.open("/proc/%d/ns/%s" % (BAIT["pid"], kind), os.O_RDONLY)
        syscall("setns", fd, 0)
        return "entered the host's"

    return lambda: in_child(enter)


def entering_own():
    # Whatever /proc shows: the call itself must be refused.
    fd = os.open(".", os.O_RDONLY)
    return past_check(lambda: syscall("setns", fd, 0), errno.EINVAL, errno.EBADF)


for name, flag in FLAGS.items():
    attempt("unshare " + name, unsharing(flag), root=name != "user")
    if name != "time":  # not one of clone's
        attempt("clone " + name, cloning(flag), root=name != "user")
attempt("clone3 user", lambda: in_child(clone3))
for kind in ("mnt", "net", "uts"):
    attempt("setns " + kind, entering(kind), root=True)
attempt("setns", entering_own)
report()
