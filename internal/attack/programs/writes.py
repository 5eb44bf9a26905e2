# Title: write anywhere but in the scratch folder
# Tries: make a file in the system's folders, in home folders, beside the interpreter's library, and in a folder of the host.
# Seen: nothing else is writable.
FOLDERS = [BAIT["open_folder"]]
if BAIT["inside"]:
    FOLDERS += [
        "/", "/bin", "/boot", "/dev", "/dev/pts", "/dev/mqueue", "/etc", "/home", "/lib", "/media", "/mnt", "/opt", "/proc",
        "/root", "/run", "/run/lock", "/sbin", "/srv", "/sys", "/sys/fs/cgroup", "/tmp", "/usr", "/usr/local",
        "/usr/local/bin", "/var", "/var/cache", "/var/lib", "/var/log", "/var/mail", "/var/tmp",
        os.path.dirname(sys.executable), os.path.dirname(os.__file__), sys.prefix,
    ]


def writing(folder):
    def write():
        path = os.path.join(folder, "ptc-mcp-" + BAIT["token"])
        open(path, "x").close()
        os.unlink(path)
        return "written"

    return write


for folder in FOLDERS:
    attempt(folder, writing(folder))
report()
