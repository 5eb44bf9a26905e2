# Title: starve the sandbox's first process
# Tries: limits of memory, processor time and descriptors of process 1 set to nothing, the lowest priority for it, and then orphans by the hundred, which it has to collect.
# Seen: nothing happens, or its own run ends.
# Ends: report, died, memory
# Outside: not run there, it would end the session
import resource

if sys.platform.startswith("linux") and BAIT["inside"]:
    for kind, least in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 0), (resource.RLIMIT_STACK, 0), (resource.RLIMIT_NOFILE, 0), (resource.RLIMIT_CPU, 1)):
        try:
            resource.prlimit(1, kind, (least, least))
        except (OSError, ValueError):
            pass
    for action in (lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))):
        try:
            action()
        except OSError:
            pass
    for _ in range(300):
        try:
            child = os.fork()
        except OSError:
            continue
        if child == 0:
            try:
                if os.fork() == 0:
                    os.setsid()
            finally:
                os._exit(0)
        os.waitpid(child, 0)


def raised():
    before = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (before[1] + 1, before[1] + 1))
    return "its own limit was raised"


attempt("raise a limit afterwards", raised)
report()
