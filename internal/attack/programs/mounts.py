# Title: change what is mounted
# Tries: mount a tmpfs, bind a folder, make the root writable, the new mount calls, unmount, change the root.
# Seen: every call refused.
MS_REMOUNT, MS_BIND, MNT_DETACH = 32, 4096, 2

os.mkdir("a")
os.mkdir("b")


def new():
    syscall("mount", b"none", b"a", b"tmpfs", 0, b"size=4096")
    syscall("umount2", b"a", MNT_DETACH)
    return "mounted"


def bind():
    syscall("mount", b"/", b"b", 0, MS_BIND, 0)
    syscall("umount2", b"b", MNT_DETACH)
    return "bound"


def remount():
    syscall("mount", b"none", b"/", 0, MS_REMOUNT | MS_BIND, 0)
    return "the root is writable"


def unmount():
    return past_check(lambda: syscall("umount2", b"/nowhere", MNT_DETACH), errno.ENOENT, errno.EINVAL)


def tree():
    os.close(syscall("open_tree", -100, b"/", 1))
    return "a copy of the root"


def file_system():
    os.close(syscall("fsopen", b"tmpfs", 0))
    return "a file system"


def pivot():
    return past_check(lambda: syscall("pivot_root", b"a", b"b"), errno.EINVAL, errno.EBUSY, errno.ENOENT)


for what, function in {
    "mount": new, "bind": bind, "remount": remount, "unmount": unmount, "open_tree": tree, "fsopen": file_system, "pivot_root": pivot,
}.items():
    attempt(what, function, root=True)
report()
