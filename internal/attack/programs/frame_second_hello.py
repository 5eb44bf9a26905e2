# Title: start the conversation anew
# Tries: a second hello, as if another sandbox had taken over.
# Seen: the host ends the run.
# Ends: protocol
# Outside: nothing to show, it is aimed at the host
incoming, outgoing = channel()
send(outgoing, {"type": "hello", "protocol": 1, "python": "3.12.0", "runner": "0" * 16})
while True:
    os.read(incoming, 1) or os._exit(0)
