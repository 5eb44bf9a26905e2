# Title: talk to another run
# Tries: two runs at once look for each other: abstract sockets, loopback, shared memory, temporary folders, keys, process lists.
# Seen: neither finds the other.
# Runs: two
import glob
import socket
import time

NAME = "ptc-mcp-" + BAIT["token"]
MINE, THEIRS = "%s-%d" % (NAME, BAIT["role"]), "%s-%d" % (NAME, 1 - BAIT["role"])
KEY = int(BAIT["token"][:7], 16)
PORT = 20000 + KEY % 20000
ANNOUNCED = []
SECONDS = 3
FOLDERS = ["/dev/shm", "/tmp", "/var/tmp", "/scratch", "/run", "/dev/mqueue", BAIT["open_folder"]]


def announcing(function):
    try:
        ANNOUNCED.append(function())
    except (OSError, Absent):
        pass


def listen(family, address):
    server = socket.socket(family)
    server.bind(address)
    server.listen(4)
    return server


def reach(family, address):
    with socket.socket(family) as client:
        client.connect(address)
    return "connected"


def leave(folder):
    path = os.path.join(folder, MINE)
    open(path, "w").close()
    return path


def segment(role):
    return syscall("shmget", KEY + role, 4096, 0o1666)


def key(role):
    return syscall("keyctl", 10, -4, b"user", ("%s-%d" % (NAME, role)).encode(), 0)  # search the user's ring


def found_in(folder):
    return lambda: os.path.exists(os.path.join(folder, THEIRS)) and "found it"


def process():
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(path) as file:
                if file.read().strip() == THEIRS[-15:]:
                    return path
        except OSError:
            pass


announcing(lambda: listen(socket.AF_UNIX, "\0" + MINE))
announcing(lambda: listen(socket.AF_INET, ("127.0.0.1", PORT + BAIT["role"])))
announcing(lambda: syscall("shmget", KEY + BAIT["role"], 4096, 0o1666))
announcing(lambda: syscall("add_key", b"user", MINE.encode(), b"x", 1, -4))
for folder in FOLDERS if BAIT["inside"] else [BAIT["open_folder"]]:
    announcing(lambda: leave(folder))
if hasattr(LIBC, "prctl"):
    LIBC.prctl(15, MINE[-15:].encode(), 0, 0, 0)

WAYS = {
    "abstract socket": lambda: reach(socket.AF_UNIX, "\0" + THEIRS),
    "loopback": lambda: reach(socket.AF_INET, ("127.0.0.1", PORT + 1 - BAIT["role"])),
    "System V memory": lambda: "found it %d" % syscall("shmget", KEY + 1 - BAIT["role"], 0, 0),
    "a key": lambda: "found it %d" % key(1 - BAIT["role"]),
    "process list": process,
}
for folder in FOLDERS if BAIT["inside"] else [BAIT["open_folder"]]:
    WAYS["folder " + (folder if BAIT["inside"] else "of both")] = found_in(folder)

# The other may start later: look again and again, and stay to be found.
deadline = time.monotonic() + SECONDS
found = set()
while time.monotonic() < deadline and len(found) < len(WAYS):
    for way, function in WAYS.items():
        try:
            if way not in found and function():
                found.add(way)
        except (OSError, Absent):
            pass
    time.sleep(0.05)
if len(found) == len(WAYS):
    time.sleep(1)
for way in WAYS:
    attempt(way, lambda: way in found and "found the other")
for path in ANNOUNCED:
    if isinstance(path, str) and os.path.exists(path):
        os.unlink(path)
if not BAIT["inside"]:
    number = segment(BAIT["role"])
    LIBC.shmctl(number, 0, 0)
report()
