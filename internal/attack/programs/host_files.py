# Title: read files of the host
# Tries: read a file, see whether it exists, list its folder; the host's /etc/passwd, shadow and machine-id.
# Seen: no file of the host can be read or even seen.


def seeing():
    return os.path.exists(BAIT["file"]) and "it exists"


def listing():
    return BAIT["file_name"] in os.listdir(BAIT["folder"]) and "it is listed"


attempt("read a file", lambda: token_in(BAIT["file"]))
attempt("see a file", seeing)
attempt("list a folder", listing)
for path in ("/etc/passwd", "/etc/shadow", "/etc/machine-id", "/etc/hostname", "/boot", "/var/log", "/var/lib/docker"):
    if path in BAIT["objects"]:
        attempt("the host's " + path, lambda: same_as_host(path), root=path == "/etc/shadow")
report()
