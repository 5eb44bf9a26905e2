# Title: become root by a setuid program
# Tries: run one that the host made, run those of the root folder, set the bit on a copy of its own.
# Seen: none gives any right: no_new_privs is set and mounts carry nosuid.
import shutil
import subprocess

NOBODY = 65534
EUID = "import os; print(os.geteuid())"


def demoted():
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def output(*command):
    def run():
        demoted()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
        return done.stdout.strip()

    return in_child(run)


def own_copy():
    # As root outside, the copy belongs to root; inside, to nobody, and becoming someone else needs another owner.
    shutil.copy(BAIT["id"] if os.path.exists(BAIT["id"]) else sys.executable, "copy")
    os.chmod("copy", 0o4755)
    arguments = ("-u",) if os.path.exists(BAIT["id"]) else ("-I", "-S", "-c", EUID)
    return output("./copy", *arguments) == "0" and "root"


def password_state():
    name = output("id", "-un")
    state = output("passwd", "-S", name)
    # Without the right to read it, two words come from /etc/passwd.
    return state.startswith(name + " ") and len(state.split()) > 2 and "read /etc/shadow: " + state


def found():
    flag = LIBC.prctl(39, 0, 0, 0, 0)  # PR_GET_NO_NEW_PRIVS
    for folder in ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/lib/openssh"):
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            path = os.path.join(folder, name)
            try:
                info = os.stat(path)
            except OSError:
                continue
            if info.st_mode & stat.S_ISUID and info.st_uid == 0 and flag == 0 and not os.statvfs(path).f_flag & os.ST_NOSUID:
                return path


attempt("the host's", lambda: output(BAIT["setuid"], "-u") == "0" and "root", root=True)
attempt("passwd", password_state, root=True)
attempt("one that works", found, root=True)
attempt("its own", own_copy, root=True)
report()
