# Title: reach other processes through /proc
# Tries: memory, root folder, working folder and descriptors of processes of the host, of process 1 and of all it can see.
# Seen: /proc shows this sandbox only, or there is none.
import glob


def memory():
    with open("/proc/%d/mem" % BAIT["pid"], "rb", buffering=0) as file:
        file.seek(BAIT["map"])
        return len(file.read(4)) == 4 and "read"


def through(pattern):
    def search():
        refusal = None
        paths = glob.glob(pattern)
        if not paths:
            raise FileNotFoundError(errno.ENOENT, pattern)
        for path in paths:
            try:
                if token_in(path + BAIT["file"]):
                    return path
            except OSError as error:
                refusal = error
        raise refusal

    return search


def descriptors():
    for path in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if BAIT["token_pipe"] and os.readlink(path) == BAIT["token_pipe"]:
                return path
        except OSError:
            pass


attempt("memory of the host", memory, root=True)
attempt("root of a process of the host", through("/proc/%d/root" % BAIT["pid"]), root=True)
attempt("root of process 1", through("/proc/1/root"), root=True)
attempt("root of any process", through("/proc/[0-9]*/root"), root=True)
attempt("descriptors of the host", descriptors, root=True)
report()
