# Title: take more memory than allowed, in ways that count for no process
# Tries: shared mappings, files without a name, and the shared memory folder, up to 64 MiB above the limit.
# Seen: the call is refused, or the kernel ends the sandbox.
# Ends: report, memory
# Outside: not run there, it is a bomb
# Claims: memory
import mmap

LIMIT = BAIT["limits"]["memory_bytes"]
MOST = LIMIT + (64 << 20)
PIECE = b"x" * (1 << 20)


def told(got):
    return got > LIMIT and "%d MiB where %d are allowed" % (got >> 20, LIMIT >> 20)


def unnamed():
    fd, got = os.memfd_create("bomb"), 0
    try:
        while got < MOST:
            got += os.write(fd, PIECE)
    finally:
        os.close(fd)
    return told(got)


def folder():
    path, got = "/dev/shm/bomb", 0
    try:
        with open(path, "wb", buffering=0) as file:
            while got < MOST:
                got += file.write(PIECE)
    finally:
        os.path.exists(path) and os.unlink(path)
    return told(got)


def shared():
    pieces = []
    while len(pieces) << 20 < MOST:
        piece = mmap.mmap(-1, 1 << 20)
        piece.write(PIECE)
        pieces.append(piece)
    return told(len(pieces) << 20)


if hasattr(os, "memfd_create"):
    attempt("files without a name", lambda: in_child(unnamed))
attempt("the shared memory folder", folder)
attempt("shared mappings", lambda: in_child(shared))
report()
