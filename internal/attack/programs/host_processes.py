# Title: see and signal processes of the host
# Tries: signal 0, a pidfd, priority and limits of a process of the host; signal 0 to all; the list in /proc; the host's init.
# Seen: no process of the host exists in here.
import hashlib
import resource

PID = BAIT["pid"]


def listed():
    return str(PID) in os.listdir("/proc") and token_in("/proc/%d/environ" % PID)


def init():
    with open("/proc/1/cmdline", "rb") as file:
        return hashlib.sha256(file.read()).hexdigest() == BAIT["init"] and "process 1 is the host's"


def signalled():
    os.kill(PID, 0)
    return "it can be signalled"


def all_signalled():
    os.kill(-1, 0)
    return "others can be signalled"


def watched():
    os.close(syscall("pidfd_open", PID, 0))
    return "a pidfd"


def reniced():
    os.setpriority(os.PRIO_PROCESS, PID, os.getpriority(os.PRIO_PROCESS, PID))
    return "its priority can be set"


def limited():
    if not hasattr(resource, "prlimit"):
        raise Absent("no prlimit")
    return resource.prlimit(PID, resource.RLIMIT_NOFILE)


attempt("signal one", signalled)
attempt("signal all", all_signalled)
attempt("priority of one", reniced)
if sys.platform.startswith("linux"):
    attempt("watch one", watched)
    attempt("limits of one", limited)
    attempt("find one in /proc", listed)
    attempt("find the host's init", init)
report()
