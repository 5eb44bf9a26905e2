# Title: write garbage into the channel
# Tries: frames that are no JSON, no object, or of an unknown type.
# Seen: the host names the fault and ends the run.
# Ends: protocol
# Outside: nothing to show, it is aimed at the host
incoming, outgoing = channel()
write_all(outgoing, struct.pack(">I", 16) + b"\x00\xff{{{{[[[[\"\"\"\"\x80\x81")
send(outgoing, ["not an object"])
send(outgoing, {"type": "shutdown"})
sys.stdin.read()
while True:
    os.read(incoming, 1) or os._exit(0)
