# Title: replay a call
# Tries: the same call with the same id, twice, to have its effect twice for one account.
# Seen: the host ends the run at the second.
# Ends: protocol
# Outside: nothing to show, it is aimed at the host
incoming, outgoing = channel()
call = {"type": "call", "id": 1, "tool": "list_callable_tools", "arguments": {}}
send(outgoing, call)
send(outgoing, call)
while True:
    os.read(incoming, 1) or os._exit(0)
