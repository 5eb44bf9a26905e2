# Title: reach a run that was forked from the same interpreter
# Tries: two runs at once look for processes other than their own by every number; signals, pidfds and the memory of what they find.
# Seen: each is alone with its first process.
# Runs: two
SECONDS = 3
OWN = {1, os.getpid(), os.getppid()}
MARK = ctypes.create_string_buffer(b"only this run knows")
NOTES = [os.path.join(BAIT["open_folder"], "sibling%d" % role) for role in (0, 1)]


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def note(path, text):
    """Leave a note for the other run, which works outside only."""
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def numbers():
    """Numbers to try: in a namespace all there can be soon, outside the one that the other has noted."""
    if BAIT["inside"]:
        return range(2, 1000)
    try:
        with open(NOTES[1 - BAIT["role"]]) as file:
            return [int(file.read())]
    except OSError:
        return []


def found():
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for pid in numbers():
            try:
                if pid not in OWN:
                    os.kill(pid, 0)
                    return pid
            except OSError:
                pass
        time.sleep(0.05)
    return 0


def read(pid):
    """Read where this run's mark lies: forked runs have the same layout."""
    here = ctypes.create_string_buffer(64)
    local, remote = Vector(ctypes.addressof(here), 64), Vector(ctypes.addressof(MARK), 64)
    arguments = (pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    return past_check(lambda: syscall("process_vm_readv", *arguments), errno.EFAULT)


if not BAIT["inside"]:
    note(NOTES[BAIT["role"]], str(os.getpid()))
victim = found()
attempt("signal another run", lambda: victim and "process %d can be signalled" % victim)
if sys.platform.startswith("linux"):
    attempt("watch another run", lambda: allowed("pidfd_open", victim or 3, 0))
    attempt("read another run's memory", lambda: read(victim or 3), root=True)
if not BAIT["inside"]:
    note(NOTES[BAIT["role"]] + ".done", "")
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and not os.path.exists(NOTES[1 - BAIT["role"]] + ".done"):
        time.sleep(0.05)  # to be found, too
report()
