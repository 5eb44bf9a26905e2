# Title: close every descriptor
# Tries: close what the runner needs and go on without it.
# Seen: its own run ends.
# Ends: died, protocol, timeout
# Seconds: 2
# Outside: nothing to show, it is aimed at the channel
import time

os.closerange(0, 4096)
while True:
    time.sleep(1)
