# Title: replace the runner
# Tries: execute another interpreter on the channel's descriptors, which speaks the protocol and claims what it likes.
# Seen: it is held as the program was, and its frames are judged as any others.
# Outside: nothing to show, it is aimed at the host
IMPOSTOR = r"""
import json, os, struct, sys
incoming, outgoing, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
gained = []
try:
    with open("/proc/self/status") as status:
        held = dict(line.strip().split(":\t", 1) for line in status if ":\t" in line)
    gained += [k for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(held[k], 16)]
    gained += [k for k, want in (("NoNewPrivs", "1"), ("Seccomp", "2")) if held.get(k, want).strip() != want]
except OSError:
    pass
if os.getuid() == 0:
    gained.append("root")
if set(os.environ) - {"LC_CTYPE"}:  # which the interpreter sets by itself
    gained.append("an environment")
account = {"attack": name, "succeeded": bool(gained), "detail": ", ".join(gained) or "gained nothing", "attempts": []}
os.write(1, b"\n" + json.dumps(account).encode() + b"\n")
done = json.dumps({"type": "done", "outcome": "ok", "error": None}).encode()
os.write(outgoing, struct.pack(">I", len(done)) + done)
while os.read(incoming, 4096):
    pass
"""

incoming, outgoing = channel()
for fd in (incoming, outgoing):
    os.set_inheritable(fd, True)
os.execve(
    os.path.realpath(sys.executable),
    [sys.executable, "-I", "-S", "-c", IMPOSTOR, str(incoming), str(outgoing), BAIT["attack"]],
    {},
)
