# Title: leave the scratch folder by links
# Tries: symbolic links and climbing paths to host files, hard links to them and to the interpreter, links through /proc.
# Seen: they lead nowhere.
import glob


def linked():
    os.symlink(BAIT["file"], "link")
    return token_in("link")


def linked_folder():
    os.symlink(BAIT["folder"], "folder")
    return token_in(os.path.join("folder", BAIT["file_name"]))


def climbed():
    return token_in("../" * 32 + BAIT["file"].lstrip("/"))


def hard_linked():
    os.link(BAIT["file"], "hard")
    return token_in("hard")


def hard_linked_interpreter():
    os.link(os.path.realpath(sys.executable), "python")
    return "python"


def through_proc():
    os.symlink("/proc/self/root" + BAIT["file"], "proc")
    return token_in("proc")


def through_descriptors():
    for path in glob.glob("/proc/self/fd/*") + glob.glob("/dev/fd/*"):
        try:
            if stat.S_ISDIR(os.stat(path).st_mode) and token_in(path + "/" + "../" * 32 + BAIT["file"].lstrip("/")):
                return path
        except OSError:
            pass


def renamed():
    os.symlink("/etc", "swap")
    os.rename("swap", "swapped")
    open("swapped/ptc-mcp-" + BAIT["token"], "w").close()
    os.unlink("swapped/ptc-mcp-" + BAIT["token"])
    return "wrote to /etc"


attempt("symbolic link", linked)
attempt("symbolic link to a folder", linked_folder)
attempt("climbing path", climbed)
attempt("hard link", hard_linked)
attempt("link through /proc", through_proc)
if BAIT["inside"]:
    attempt("hard link to the interpreter", hard_linked_interpreter)
    attempt("through descriptors", through_descriptors)
    attempt("write through a link", renamed)
report()
