# Title: use raw devices
# Tries: open the host's memory, log, disks and virtual machines; make device nodes of its own and open them.
# Seen: no such device, none can be made, and an existing node of that kind does not open.
NODES = {"mem": (stat.S_IFCHR, 1, 1), "null": (stat.S_IFCHR, 1, 3), "kmsg": (stat.S_IFCHR, 1, 11), "disk": (stat.S_IFBLK, 7, 0)}


def opening(path):
    def open_it():
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        return "open"

    return open_it


def making(name, kind, major, minor):
    def make():
        os.mknod(name, kind | 0o600, os.makedev(major, minor))
        return "made"

    return make


def on_disk():
    path = os.path.join("/dev/shm", BAIT["token"])
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    os.unlink(path)
    return "made"


for path in BAIT["devices"]:
    attempt("open " + path, opening(path), root=True)
for name, node in NODES.items():
    attempt("make " + name, making(name, *node), root=True)
attempt("make one in /dev/shm", on_disk, root=True)
attempt("open its own", opening("null"), root=True)
report()
