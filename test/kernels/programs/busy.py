# Computes in two processes for half a minute, so that its cgroup can be looked
# at, and holds it back.
import os
import time

os.fork()
print("busy", flush=True)
end = time.monotonic() + 30
while time.monotonic() < end:
    pass
