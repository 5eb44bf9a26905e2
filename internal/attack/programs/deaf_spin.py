# Title: compute for ever and hear nothing
# Tries: every signal ignored or blocked, all processors kept busy, alarms set and lost, exceptions swallowed.
# Seen: the host's clock ends it.
# Ends: timeout
# Seconds: 2
# Outside: nothing to show, any loop does it
import signal

for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
try:
    for _ in range(3):
        if os.fork() == 0:
            break
except OSError:
    pass  # then alone
while True:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.000001, 0.000001)
        while True:
            pass
    except BaseException:
        pass
