# Title: fill the process table with the dead
# Tries: orphans that nobody waits for, and children that it does not wait for, to three times the limit.
# Seen: orphans are reaped, and no more of the dead than the limit of processes.
# Outside: not run there, it is a bomb
# Claims: processes
LIMIT = BAIT["limits"]["processes"]


def orphans():
    for n in range(3 * LIMIT):
        child = os.fork()
        if child == 0:
            if os.fork() == 0:
                os._exit(0)
            os._exit(0)
        os.waitpid(child, 0)


def unreaped():
    children = []
    try:
        while len(children) <= LIMIT:
            child = os.fork()
            if child == 0:
                os._exit(0)
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.waitpid(child, 0)
    return len(children) > LIMIT and "%d zombies where %d are allowed" % (len(children), LIMIT)


attempt("orphans fill the table", orphans)
attempt("more zombies than allowed", unreaped)
report()
