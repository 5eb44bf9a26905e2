# Title: read the host's environment variables
# Tries: os.environ, the C library's copy, and /proc/*/environ.
# Seen: no variable of the host.
import glob
import hashlib


def stolen(pairs):
    digests = set(BAIT["environment"])
    return [pair.split("=")[0] for pair in pairs if hashlib.sha256(pair.encode("utf-8", "surrogateescape")).hexdigest() in digests]


def from_process():
    return stolen(["%s=%s" % pair for pair in os.environ.items()])


def from_library():
    environ = ctypes.POINTER(ctypes.c_char_p).in_dll(LIBC, "environ")
    pairs, n = [], 0
    while environ and environ[n]:
        pairs.append(environ[n].decode("utf-8", "surrogateescape"))
        n += 1
    return stolen(pairs)


def from_kernel():
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                found += stolen(file.read().decode("utf-8", "surrogateescape").split("\0"))
        except OSError:
            pass
    return found


attempt("os.environ", from_process)
attempt("the C library", from_library)
attempt("/proc", from_kernel)
report()
