# Title: gain rights by asking
# Tries: root's ids, all capabilities, other groups, higher hard limits, rights that survive exec.
# Seen: every call refused.
import resource


def becoming(function, *ids):
    def become():
        function(*ids)
        return "changed"

    return lambda: in_child(become)


def capabilities():
    header = ctypes.create_string_buffer(struct.pack("<Ii", 0x20080522, 0))
    everything = ctypes.create_string_buffer(struct.pack("<6I", 1 << 21, 1 << 21, 0, 0, 0, 0))  # CAP_SYS_ADMIN
    syscall("capset", header, everything)
    return "CAP_SYS_ADMIN"


def held():
    with open("/proc/self/status") as status:
        sets = {line.split(":")[0]: int(line.split()[1], 16) for line in status if line.startswith("Cap")}
    return {name: hex(value) for name, value in sets.items() if value}


def ambient():
    if LIBC.prctl(47, 2, 21, 0, 0) != 0:  # PR_CAP_AMBIENT, RAISE
        raise OSError(ctypes.get_errno(), "")
    return "raised"


def bounding():
    return LIBC.prctl(23, 21, 0, 0, 0) == 1 and "CAP_SYS_ADMIN can still be had"  # PR_CAPBSET_READ


def files():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    limit = BAIT["limits"]["open_files"]
    if limit and (hard == resource.RLIM_INFINITY or hard > limit):
        return "a hard limit of %d" % hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard + 1))
    return "a higher limit"


attempt("setuid", becoming(os.setuid, 0), root=True)
attempt("setgid", becoming(os.setgid, 0), root=True)
if hasattr(os, "setresuid"):
    attempt("setresuid", becoming(os.setresuid, 0, 0, 0), root=True)
attempt("setgroups", becoming(os.setgroups, [0]), root=True)
if sys.platform.startswith("linux"):
    attempt("capset", lambda: in_child(capabilities), root=True)
    attempt("capabilities held", held, root=True)
    attempt("bounding set", bounding)
attempt("more open files", files)
report()
