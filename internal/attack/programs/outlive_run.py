# Title: go on after the run has ended
# Tries: a daemon in a session of its own, deaf to signals, that prints for ever, while the program ends in good order.
# Seen: the run ends at once, and the daemon with it.
# Outside: nothing to show, any daemon does it
import signal



def stay():
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
    while True:
        try:
            os.write(1, b".")
        except OSError:
            pass


def leave():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            stay()
        os._exit(0)
    os.wait()


attempt("keep the run from ending", leave)
report()
