# Title: stand still
# Tries: stop the program's own process, and everything else it may signal.
# Seen: the host's clock ends it.
# Ends: timeout, died
# Seconds: 2
# Outside: nothing to show, any process may stop itself
import signal

try:
    os.kill(os.getppid(), signal.SIGSTOP)
except OSError:
    pass
os.kill(os.getpid(), signal.SIGSTOP)
report()
