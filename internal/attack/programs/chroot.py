# Title: change the root folder and climb out
# Tries: chroot into a folder while holding the outer one open, then back out of it.
# Seen: chroot refused.


def climb():
    outside = os.open("/", os.O_RDONLY)
    os.mkdir("inner")
    syscall("chroot", b"inner")
    os.fchdir(outside)
    for _ in range(64):
        os.chdir("..")
    syscall("chroot", b".")
    return "out of the inner root"


attempt("chroot", lambda: in_child(climb), root=True)
report()
