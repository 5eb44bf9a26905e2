# Title: stop the kernel in the middle of a copy
# Tries: userfaultfd, which makes the kernel's races easy to win.
# Seen: refused.


def fault():
    os.close(syscall("userfaultfd", 1))
    return "a descriptor"


def device():
    os.close(os.open("/dev/userfaultfd", os.O_RDWR))
    return "open"


attempt("userfaultfd", fault)
if BAIT["inside"] or os.path.exists("/dev/userfaultfd"):
    attempt("/dev/userfaultfd", device, root=True)
report()
