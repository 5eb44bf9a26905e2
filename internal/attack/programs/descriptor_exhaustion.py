# Title: use up the machine's open files
# Tries: open files beyond the limit, raise the limit, and park open files in sockets that nobody reads.
# Seen: too many open files, at the limit.
# Outside: not run there, it would exhaust the shell that runs it
import array
import resource
import socket

LIMIT = BAIT["limits"]["open_files"]


def opened():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        pass
    held = []
    try:
        while len(held) <= LIMIT:
            held.append(os.dup(1))
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
    finally:
        for fd in held:
            os.close(fd)
    return len(held) > LIMIT and "%d more where %d are allowed" % (len(held), LIMIT)


def parked():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    sent, refusal = 0, None
    try:
        while sent <= 8 * LIMIT:
            fds = array.array("i", [1] * 64)
            ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
            sent += len(fds)
    except OSError as error:
        refusal = error
    ours.close()
    theirs.close()
    return sent > 8 * LIMIT and "%d are parked in one socket" % sent


attempt("open", opened)
attempt("park in a socket", parked)
report()
