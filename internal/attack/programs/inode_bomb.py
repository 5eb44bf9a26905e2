# Title: fill the disk with nothing
# Tries: more empty files, folders and links than the scratch folder has blocks of a kilobyte.
# Seen: no more can be made, far below what would cost the kernel its memory.
# Outside: not run there, it is a bomb
# Claims: scratch

MOST = max(BAIT["limits"]["scratch_bytes"] >> 10, 1024)


def making(make):
    def fill():
        made, refusal = 0, None
        try:
            while made <= MOST and refusal is None:
                try:
                    make(str(made))
                    made += 1
                except OSError as error:
                    refusal = error
        finally:
            for name in os.listdir("."):
                (os.rmdir if os.path.isdir(name) and not os.path.islink(name) else os.unlink)(name)
        if refusal is not None:
            raise refusal
        return "%d were made" % made

    return fill


attempt("files", making(lambda name: os.close(os.open(name, os.O_CREAT))))
attempt("folders", making(os.mkdir))
attempt("symbolic links", making(lambda name: os.symlink("x" * 200, name)))
report()
