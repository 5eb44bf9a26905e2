# Title: signal another run by locks on devices
# Tries: two runs at once lock device nodes and look for each other's locks.
# Seen: each run has nodes of its own.
# Runs: two
# Claims: devices
DEVICES = ["/dev/" + name for name in ("null", "zero", "random", "urandom", "full", "tty", "ptmx", "shm", "mqueue", "pts", "")]
DEVICES += ["/proc/kcore", "/proc/keys"]  # engines hide them behind a device node
FOUND = locks_of_the_other(DEVICES)
for way, devices in FOUND.items():
    attempt("locks by " + way, lambda: ", ".join(devices))
report()
