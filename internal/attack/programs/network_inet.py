# Title: reach the host over IP
# Tries: TCP to a listener of the host on each of its addresses, and UDP with an answer, over IPv4 and IPv6.
# Seen: no socket can be made, or no address can be reached.
import socket


def tcp(host, port):
    def connect():
        with socket.create_connection((host, port), timeout=2) as connection:
            return connection.recv(64).decode() == BAIT["token"] and "%s answered" % host

    return connect


def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(2)
        client.sendto(bytes(12), ("127.0.0.1", BAIT["resolver"]))
        return len(client.recv(512)) > 0 and "the host answered"


for host, port in BAIT["addresses"]:
    attempt("TCP to " + host, tcp(host, port))
attempt("UDP to the host", udp)
report()
