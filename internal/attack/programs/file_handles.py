# Title: open files by handle, past the root folder
# Tries: name_to_handle_at and open_by_handle_at, also with a guessed handle of the disk's root.
# Seen: both refused.
CWD = -100


def handle_of(path):
    buffer = ctypes.create_string_buffer(struct.pack("<Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int(0)
    syscall("name_to_handle_at", CWD, path.encode(), buffer, ctypes.byref(mount), 0)
    return buffer


def named():
    return handle_of(".") and "a handle"


def opened():
    folder = os.open(".", os.O_RDONLY)
    os.close(syscall("open_by_handle_at", folder, handle_of("."), os.O_RDONLY))
    return "opened"


def guessed():
    # Inode 2 is the root of most disks.
    buffer = ctypes.create_string_buffer(struct.pack("<IiII", 8, 1, 2, 0) + bytes(64))
    folder = os.open(".", os.O_RDONLY)
    return past_check(lambda: os.close(syscall("open_by_handle_at", folder, buffer, os.O_RDONLY)), errno.ESTALE)


attempt("take a handle", named)
attempt("open its own", opened, root=True)
attempt("open a guessed one", guessed, root=True)
report()
