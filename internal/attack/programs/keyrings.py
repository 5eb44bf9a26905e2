# Title: use the kernel's key rings
# Tries: add a key, look up the user's and the session's ring, ask for a key; all sandboxes have one user id.
# Seen: every call refused.
SESSION, USER = -3, -4

attempt("add_key", lambda: allowed("add_key", b"user", BAIT["token"].encode(), b"x", 1, -2))
attempt("session ring", lambda: allowed("keyctl", 0, SESSION, 1))
attempt("user ring", lambda: allowed("keyctl", 0, USER, 1))
attempt("request_key", lambda: past_check(lambda: syscall("request_key", b"user", b"nothing", 0, 0), errno.ENOKEY))
report()
