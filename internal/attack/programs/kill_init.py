# Title: kill the sandbox's first process and its keeper
# Tries: every signal to process 1 and to its own parent.
# Seen: nothing happens, or its own run ends.
# Ends: report, died
# Outside: not run there, it would end the session
import signal


if BAIT["inside"] and not sys.platform.startswith("linux"):
    attempt("find a process 1 of its own", lambda: None)  # there the parent is the host's
else:
    for number in sorted(set(signal.Signals) - {signal.SIGCONT}):
        for pid in {1, os.getppid()}:
            try:
                os.kill(pid, number)
            except OSError:
                pass
report()
