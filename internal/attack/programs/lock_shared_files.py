# Title: signal another run by locks on files
# Tries: two runs at once lock files and folders that both can open, among them the interpreter's, and look for each other's locks.
# Seen: each run has files of its own, or they are none the other can lock.
# Runs: two
# Claims: files
LIBRARY = os.path.dirname(os.__file__)
FILES = [os.path.join(LIBRARY, name) for name in ("this.py", "antigravity.py", "os.py", "json/__init__.py", "", "json")]
FILES += [sys.executable, "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/usr/share/zoneinfo/UTC"]
FILES += ["/", "/usr", "/usr/lib", "/etc", "/etc/passwd", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/tmp", "/run"]
FILES += ["/proc", "/proc/version", "/proc/sys/kernel/ostype", "/sys", "/sys/kernel", "/sys/devices"]
FILES += ["/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/tasks"]

if not BAIT["inside"]:
    # Locks on the library itself would disturb others.
    FILES = [os.path.join(BAIT["open_folder"], "lock%d" % n) for n in range(2)]
    for path in FILES:
        os.close(os.open(path, os.O_CREAT, 0o666))

FOUND = locks_of_the_other(FILES)
for way, files in FOUND.items():
    attempt("locks by " + way, lambda: ", ".join(files))
report()
