# Title: talk to local sockets of the host
# Tries: connect to a socket of the host by its path and by an abstract name, and to well-known ones (D-Bus, X11, systemd).
# Seen: none exists.
import socket


def connecting(address):
    def connect():
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(2)
            client.connect(address)
            return client.recv(64).decode() == BAIT["token"] and "the host answered"

    return connect


def existing(path):
    return lambda: os.path.exists(path) and path


attempt("by path", connecting(BAIT["unix_path"]))
if BAIT["unix_abstract"]:
    attempt("by abstract name", connecting("\0" + BAIT["unix_abstract"]))
if BAIT["inside"]:
    for path in ("/run/dbus/system_bus_socket", "/run/systemd/private", "/tmp/.X11-unix/X0", "/run/user", "/dev/log"):
        attempt("find " + path, existing(path))
report()
