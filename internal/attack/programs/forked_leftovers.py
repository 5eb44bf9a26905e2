# Title: use what the process that made the sandbox left open
# Tries: every descriptor up to 65536 that is neither a stream nor the channel; on each, a message with a request and a report.
# Seen: there are none.
import socket

FORGED = b'{"Kind":"ended","Code":0}\n'
KEPT = []

if not BAIT["inside"]:
    # What a careless maker would leave: a control socket, and a folder to walk out by.
    KEPT = [*socket.socketpair(), os.open("/", os.O_RDONLY)]


def identity(fd):
    info = os.fstat(fd)
    return info.st_dev, info.st_ino


def left_open():
    known = {identity(fd) for fd in (0, 1, 2)}
    if BAIT["inside"]:
        known |= {identity(fd) for fd in channel()}
    for fd in range(3, 65536):
        try:
            if identity(fd) not in known:
                yield fd
        except OSError:
            pass


def forged(fd):
    try:
        return os.write(fd, FORGED) == len(FORGED)
    except OSError:
        return False


def walkable(fd):
    try:
        return os.listdir(fd)
    except OSError:
        return False


attempt("find descriptors", lambda: " ".join(map(str, left_open())))
attempt("forge a report", lambda: [fd for fd in left_open() if stat.S_ISSOCK(os.fstat(fd).st_mode) and forged(fd)])
attempt("walk out by a folder", lambda: [fd for fd in left_open() if walkable(fd)])
report()
