# Title: ask a name server
# Tries: a DNS query by hand to a resolver of the host and to those in /etc/resolv.conf, and getaddrinfo.
# Seen: no answer, no name resolved.
import socket

QUERY = struct.pack(">6H", 0x5A5A, 0x0100, 1, 0, 0, 0) + b"\x07example\x03com\x00" + struct.pack(">2H", 1, 1)


def asking(server, port):
    def ask():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(2)
            client.sendto(QUERY, (server, port))
            return client.recv(512)[:2] == QUERY[:2] and server + " answered"

    return ask


def resolving(name):
    return lambda: [entry[4][0] for entry in socket.getaddrinfo(name, 80)]


attempt("the host's resolver", asking("127.0.0.1", BAIT["resolver"]))
if BAIT["inside"]:
    servers = ["127.0.0.11", "127.0.0.53"]
    try:
        with open("/etc/resolv.conf") as file:
            servers += [line.split()[1] for line in file if line.startswith("nameserver")]
    except OSError:
        pass
    for server in servers:
        attempt("resolver " + server, asking(server, 53))
for name in ["example.com", "host.docker.internal"] if BAIT["inside"] else ["localhost"]:
    attempt("look up " + name, resolving(name))
report()
