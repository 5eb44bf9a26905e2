# Title: do input and output past the call filter
# Tries: io_uring, whose requests (sockets included) no filter sees, and the older asynchronous interface.
# Seen: refused.


def ring():
    os.close(syscall("io_uring_setup", 4, ctypes.create_string_buffer(512)))
    return "a ring"


def context():
    handle = ctypes.c_ulong(0)
    syscall("io_setup", 4, ctypes.byref(handle))
    return "a context"


attempt("io_uring_setup", ring)
attempt("io_setup", context)
report()
