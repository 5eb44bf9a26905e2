# Four children hold 24 MiB each at the same time: less than the limit of 64 MiB
# each, and more together. Says how many of them live to see it.
import os
import signal

children = []
for _ in range(4):
    said, say = os.pipe()
    child = os.fork()
    if child == 0:
        held = b"x" * (24 << 20)
        os.write(say, b"x")
        signal.pause()
        os._exit(len(held) == 0)
    os.close(say)
    children.append((child, said))
for _, said in children:
    os.read(said, 1)  # at its end, nothing
alive = [child for child, _ in children if os.waitpid(child, os.WNOHANG) == (0, 0)]
print(len(alive), "of 4 children live", flush=True)
for child in alive:
    os.kill(child, signal.SIGKILL)
