# Title: go on running after done
# Tries: tell the host that the run has ended well, then go on: calls, output, and a process that stays.
# Seen: the run counts as ended, its sandbox is removed, later frames reach nobody.
# Ends: silent
# Outside: nothing to show, it is aimed at the host
incoming, outgoing = channel()
try:
    os.fork()
except OSError:
    pass  # then alone
try:
    send(outgoing, {"type": "done", "outcome": "ok", "error": None})
    while True:
        send(outgoing, {"type": "call", "id": 2000000 + os.getpid(), "tool": BAIT["tool"], "arguments": {}})
        os.write(1, b"still here\n")
except OSError:
    os._exit(0)
