# Title: signal another run by locks on shared files
# Tries: two runs at once lock files of the interpreter's library, and look for each other's locks.
# Seen: each run has files of its own, or they are none the other can lock.
# Runs: two
# Not stopped by: native
import time

MINE, THEIRS = BAIT["role"], 1 - BAIT["role"]
FILES = [os.path.join(os.path.dirname(os.__file__), name) for name in ("this.py", "antigravity.py")]
SECONDS = 3

if not BAIT["inside"]:
    # Locks on the library itself would disturb others.
    FILES = [os.path.join(BAIT["open_folder"], "lock%d" % role) for role in (0, 1)]
    for path in FILES:
        os.close(os.open(path, os.O_CREAT, 0o666))


def lock(path):
    fd = os.open(path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return fd


def seen():
    held = lock(FILES[MINE])
    deadline = time.monotonic() + SECONDS
    found = ""
    while time.monotonic() < deadline and not found:
        try:
            os.close(lock(FILES[THEIRS]))
        except BlockingIOError:
            found = "the other's lock was seen"
        time.sleep(0.05)
    time.sleep(0.5)  # to be seen, too
    os.close(held)
    return found


attempt("a file lock", seen)
report()
