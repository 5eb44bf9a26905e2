# Title: fill the disk
# Tries: write 1 MiB more than the scratch folder may hold, by writing, by reserving, and through many files.
# Seen: no space left, at the limit.
# Outside: not run there, it is a bomb
# Claims: scratch

LIMIT = BAIT["limits"]["scratch_bytes"]


def told(got):
    return got > LIMIT and "%d KiB where %d are allowed" % (got >> 10, LIMIT >> 10)


def written():
    got = 0
    try:
        with open("bomb", "wb", buffering=0) as file:
            while got <= LIMIT:
                got += file.write(b"x" * (1 << 20))
    finally:
        os.unlink("bomb")
    return told(got)


def reserved():
    fd = os.open("bomb", os.O_CREAT | os.O_WRONLY)
    try:
        os.posix_fallocate(fd, 0, LIMIT + (1 << 20))
    finally:
        os.close(fd)
        os.unlink("bomb")
    return told(LIMIT + (1 << 20))


def in_pieces():
    number = 0
    try:
        while number << 20 <= LIMIT:
            with open("bomb%d" % number, "wb", buffering=0) as file:
                if file.write(b"x" * (1 << 20)) < 1 << 20:
                    break
            number += 1
    finally:
        for n in range(number + 1):
            os.path.exists("bomb%d" % n) and os.unlink("bomb%d" % n)
    return told(number << 20)


attempt("one file", written)
if hasattr(os, "posix_fallocate"):
    attempt("reserved", reserved)
attempt("many files", in_pieces)
report()
