# Title: command the container engine
# Tries: connect to every engine's socket that the host has, and make an HTTP request of a stand-in.
# Seen: no such socket.
import socket


def commanding(path):
    def command():
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(5)
            client.connect(path)
            client.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return client.recv(64).startswith(b"HTTP/1.") and "the engine answered"

    return command


def connecting(path):
    def connect():
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(5)
            client.connect(path)
            return "connected"

    return connect


attempt("a stand-in", commanding(BAIT["engine"]))
for path in BAIT["engines"]:
    attempt(path, connecting(path), root=True)
report()
