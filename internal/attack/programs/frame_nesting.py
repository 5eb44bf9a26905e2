# Title: exhaust the host's stack
# Tries: a value nested a million deep.
# Seen: the host refuses the depth and ends the run.
# Ends: protocol
# Outside: nothing to show, it is aimed at the host
incoming, outgoing = channel()
payload = b'{"type":"emit","value":' + b"[" * 1000000 + b"]" * 1000000 + b"}"
write_all(outgoing, struct.pack(">I", len(payload)) + payload)
while True:
    os.read(incoming, 1) or os._exit(0)
