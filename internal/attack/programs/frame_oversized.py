# Title: announce a frame of four gigabytes
# Tries: make the host reserve memory for what never comes.
# Seen: the host refuses the length and ends the run.
# Ends: protocol
# Outside: nothing to show, it is aimed at the host
incoming, outgoing = channel()
write_all(outgoing, b"\xff\xff\xff\xff{\"type\":\"emit\"")
while True:
    os.read(incoming, 1) or os._exit(0)
