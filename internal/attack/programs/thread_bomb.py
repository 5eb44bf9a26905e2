# Title: start threads without end
# Tries: three times as many threads as processes and threads are allowed.
# Seen: no more than the limit.
# Outside: not run there, it is a bomb
# Claims: processes
import threading

LIMIT = BAIT["limits"]["processes"]


def threads():
    never, started = threading.Event(), 0
    threading.stack_size(256 << 10)
    try:
        while started < 3 * LIMIT:
            threading.Thread(target=never.wait, daemon=True).start()
            started += 1
    except RuntimeError:
        pass
    return started > LIMIT and "%d threads where %d are allowed" % (started, LIMIT)


attempt("more threads than allowed", threads)
report()
