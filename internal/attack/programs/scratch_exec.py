# Title: run programs from the scratch folder
# Tries: execute a script and a copied binary, map a file as code, in every writable folder.
# Seen: refused: writable folders carry noexec.
import mmap
import shutil
import subprocess

FOLDERS = ["."] + (["/dev/shm"] if BAIT["inside"] else [])


def script(folder):
    path = os.path.join(folder, "script")
    with open(path, "w") as file:
        file.write("#!%s -IS\nprint('ran')\n" % sys.executable)
    os.chmod(path, 0o755)
    return subprocess.run([os.path.abspath(path)], capture_output=True, text=True).stdout.strip()


def binary(folder):
    source = next(path for path in ("/bin/true", "/usr/bin/true", os.path.realpath(sys.executable)) if os.path.exists(path))
    path = os.path.join(folder, "binary")
    try:
        shutil.copy(source, path)
        os.chmod(path, 0o755)
        subprocess.run([os.path.abspath(path)], stdin=subprocess.DEVNULL, capture_output=True)
    finally:
        os.path.exists(path) and os.unlink(path)
    return "ran"


def mapped(folder):
    path = os.path.join(folder, "code")
    with open(path, "w+b") as file:
        file.write(bytes(mmap.PAGESIZE))
        file.flush()
        mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()
    return "mapped"


for folder in FOLDERS:
    attempt("a script in " + folder, lambda: script(folder))
    attempt("a binary in " + folder, lambda: binary(folder))
    attempt("code mapped in " + folder, lambda: mapped(folder))
report()
