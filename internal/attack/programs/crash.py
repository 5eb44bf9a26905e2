# Title: crash the interpreter
# Tries: read address zero, with a core file asked for.
# Seen: its own run ends, and no core file is written.
# Ends: died
# Outside: nothing to show, it is a fault of its own
import resource

try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
except (OSError, ValueError):
    pass
ctypes.string_at(0)
report()
