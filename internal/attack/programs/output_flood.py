# Title: print without end
# Tries: 64 MiB of output from the program, its threads and its children.
# Seen: the host keeps its limit of output, and the run ends as any other.
# Outside: nothing to show, the limit is the host's
import threading

LINE = b"\x1b[2J" + b"flood" * 13000 + b"\xff\n"


def pour():
    for _ in range(256):
        write_all(1, LINE)


def flood():
    thread = threading.Thread(target=pour)
    thread.start()
    child = os.fork()
    if child == 0:
        pour()
        pour()
        os._exit(0)
    pour()
    thread.join()
    os.waitpid(child, 0)


attempt("more output than allowed", flood)
report()
