# Title: take more memory than allowed
# Tries: one process fills memory piece by piece, with its own soft limit lifted, up to 64 MiB above the limit.
# Seen: a MemoryError, or the kernel ends the sandbox.
# Ends: report, memory
# Outside: not run there, it is a bomb
# Claims: memory
import resource

LIMIT = BAIT["limits"]["memory_bytes"]


def fill():
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS):
        hard = resource.getrlimit(kind)[1]
        try:
            resource.setrlimit(kind, (hard, hard))
        except (OSError, ValueError):
            pass
    pieces = []
    try:
        while len(pieces) << 20 < LIMIT + (64 << 20):
            pieces.append(b"x" * (1 << 20))
    except MemoryError:
        pass
    got = len(pieces) << 20
    return got > LIMIT and "%d MiB where %d are allowed" % (got >> 20, LIMIT >> 20)


attempt("more memory than allowed", fill)
report()
