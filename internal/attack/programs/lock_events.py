# Title: signal another run by locks on descriptors of events
# Tries: two runs at once make descriptors that wait for events, which are all one file to the kernel, lock a byte of it and look for the other's lock.
# Seen: none can be made.
# Runs: two
SECONDS = 3
FIRST = 2 * int(BAIT["token"][:7], 16)  # a byte for each run of this pair

MAKERS = {
    "epoll": lambda: syscall("epoll_create1", 0),
    "eventfd": lambda: syscall("eventfd2", 0, 0),
    "timerfd": lambda: syscall("timerfd_create", 1, 0),
    "signalfd": lambda: syscall("signalfd4", -1, bytes(8), 8, 0),
}


def made(maker):
    """Make a descriptor and lock this run's byte; what went wrong is tried again as the attempt."""
    try:
        fd = maker()
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, FIRST + BAIT["role"])
        return fd
    except (OSError, Absent):
        return -1


def seen(fd):
    """Look for a lock on the other run's byte."""
    layout = "hhqqi4x"  # struct flock
    question = struct.pack(layout, fcntl.F_WRLCK, os.SEEK_SET, FIRST + 1 - BAIT["role"], 1, 0)
    return struct.unpack(layout, fcntl.fcntl(fd, fcntl.F_GETLK, question))[0] != fcntl.F_UNLCK


# All stay open: with any of them, the kernel would drop the process's locks.
DESCRIPTORS = {name: made(maker) for name, maker in MAKERS.items()}
FOUND = set()
deadline = time.monotonic() + SECONDS
while time.monotonic() < deadline and len(FOUND) < len(MAKERS):
    FOUND |= {name for name, fd in DESCRIPTORS.items() if fd >= 0 and seen(fd)}
    time.sleep(0.05)
if len(FOUND) == len(MAKERS):
    time.sleep(1)  # to be seen, too
for name, maker in MAKERS.items():
    attempt(name, lambda: (name in FOUND and "found the other's lock") if DESCRIPTORS[name] >= 0 else maker() < 0)
report()
