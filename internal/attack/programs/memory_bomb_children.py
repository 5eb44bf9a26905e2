# Title: take more memory than allowed, by many processes
# Tries: eight children hold a quarter of the limit each, at the same time.
# Seen: children are ended, or the whole sandbox.
# Ends: report, memory, died
# Outside: not run there, it is a bomb
# Claims: memory
import select
import signal

LIMIT = BAIT["limits"]["memory_bytes"]
CHILDREN, SHARE = 8, LIMIT // 4


def hold(writing):
    held = b"x" * SHARE
    os.write(writing, b"h")
    signal.pause()
    return held


def together():
    reading, writing = os.pipe()
    children = []
    try:
        for _ in range(CHILDREN):
            child = os.fork()
            if child == 0:
                try:
                    hold(writing)
                finally:
                    os._exit(1)
            children.append(child)
        os.close(writing)
        while select.select([reading], [], [], 3)[0] and os.read(reading, 1):
            pass
        living = sum(os.waitpid(child, os.WNOHANG)[0] == 0 for child in children)
    finally:
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
            except OSError:
                pass
    return living * SHARE > LIMIT and "%d MiB where %d are allowed" % (living * SHARE >> 20, LIMIT >> 20)


attempt("more memory than allowed", together)
report()
