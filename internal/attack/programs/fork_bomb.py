# Title: fork without end
# Tries: every process forks again and again, to three times the limit in all.
# Seen: no more processes than the limit at once, and none left when the run has ended.
# Outside: not run there, it is a bomb
# Claims: processes
import signal

LIMIT = BAIT["limits"]["processes"]
# Each fork takes a ticket, so that the bomb is bounded even where nothing bounds it; each living child leaves a mark.
ticket_in, ticket_out = os.pipe()
mark_in, mark_out = os.pipe()
write_all(ticket_out, b"t" * min(3 * LIMIT, 1000))
os.close(ticket_out)
os.set_blocking(mark_in, False)


def bomb():
    refused = 0
    while refused < 100 and os.read(ticket_in, 1):
        try:
            if os.fork() == 0:
                refused = 0
                os.write(mark_out, b"m")
        except OSError:
            refused += 1
    signal.pause()


def living():
    if os.fork() == 0:
        os.write(mark_out, b"m")
        bomb()
    count, refused = 1, 0
    while refused < 50 and os.read(ticket_in, 1):
        try:
            if os.fork() == 0:
                os.write(mark_out, b"m")
                bomb()
        except OSError:
            refused += 1
    try:
        count += len(os.read(mark_in, 65536))
    except BlockingIOError:
        pass
    return count > LIMIT and "%d processes where %d are allowed" % (count, LIMIT)


attempt("more processes than allowed", living)
report()
