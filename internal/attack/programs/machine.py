# Title: stop or change the machine
# Tries: reboot, load a kernel or a module, set clock and host name, read the kernel's log, swap, accounting, ports.
# Seen: every call refused. The arguments are such that nothing would happen where a call is allowed.


def adjust():
    # Read the length of a tick, and set it to what it is.
    state = ctypes.create_string_buffer(208)
    syscall("adjtimex", state)
    struct.pack_into("<I", state, 0, 0x4000)
    syscall("adjtimex", state)
    return "the clock can be adjusted"


def log():
    return syscall("syslog", 3, ctypes.create_string_buffer(4096), 4096) > 0 and "the kernel's log"


def name():
    own = os.uname().nodename.encode()
    syscall("sethostname", own, len(own))
    return "the host name can be set"


attempt("reboot", lambda: past_check(lambda: syscall("reboot", 0, 0, 0, 0), errno.EINVAL), root=True)
attempt("kexec_load", lambda: past_check(lambda: syscall("kexec_load", 0, 0, 0, 0xFFFF), errno.EINVAL), root=True)
attempt("init_module", lambda: past_check(lambda: syscall("init_module", b"", 0, b""), errno.ENOEXEC), root=True)
attempt("delete_module", lambda: past_check(lambda: syscall("delete_module", b"no-such-module", 0x800), errno.ENOENT), root=True)
attempt("adjust the clock", adjust, root=True)
attempt("set the host name", name, root=True)
attempt("read the kernel's log", log, root=True)
attempt("swapon", lambda: past_check(lambda: syscall("swapon", b"/no/such/file", 0), errno.ENOENT), root=True)
attempt("acct", lambda: past_check(lambda: syscall("acct", b"/no/such/file"), errno.ENOENT), root=True)
report()
