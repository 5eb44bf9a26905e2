# Title: call past the budget
# Tries: frames of its own making that call a tool more often than allowed, and tools that were not offered.
# Seen: the host answers no more calls than the budget.
# Outside: nothing to show, it is aimed at the host
BUDGET = BAIT["limits"]["tool_calls"]
CALLS = min(BUDGET + 100, 4000)


def frames(descriptor):
    while True:
        size = os.read(descriptor, 4)
        while len(size) < 4:
            size += os.read(descriptor, 4 - len(size))
        length, payload = struct.unpack(">I", size)[0], b""
        while len(payload) < length:
            payload += os.read(descriptor, length - len(payload))
        yield json.loads(payload)


def flood():
    incoming, outgoing = channel()
    answers, results = frames(incoming), 0
    for n in range(CALLS):
        # Ids far above the runner's own, which start at 1.
        send(outgoing, {"type": "call", "id": 1000000 + n, "tool": BAIT["tool"], "arguments": {}})
        results += next(answers)["type"] == "result"
    return results > BUDGET and "%d results where %d calls are allowed" % (results, BUDGET)


attempt("more calls than allowed", flood)
report()
