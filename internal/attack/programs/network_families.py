# Title: open a socket of every address family
# Tries: each family the kernel may know, in every type: netlink, packet, vsock (the hypervisor's host), ALG, Bluetooth, CAN, …
# Seen: every one refused (EPERM, EACCES or EAFNOSUPPORT).
import socket

FAMILIES = {
    "AF_INET": 2, "AF_AX25": 3, "AF_IPX": 4, "AF_APPLETALK": 5, "AF_X25": 9, "AF_INET6": 10, "AF_KEY": 15,
    "AF_NETLINK": 16, "AF_PACKET": 17, "AF_RDS": 21, "AF_PPPOX": 24, "AF_LLC": 26, "AF_CAN": 29, "AF_TIPC": 30,
    "AF_BLUETOOTH": 31, "AF_RXRPC": 33, "AF_PHONET": 35, "AF_IEEE802154": 36, "AF_CAIF": 37, "AF_ALG": 38,
    "AF_NFC": 39, "AF_VSOCK": 40, "AF_KCM": 41, "AF_QIPCRTR": 42, "AF_SMC": 43, "AF_XDP": 44, "AF_MCTP": 45,
}
ROOT = ("AF_PACKET", "AF_KEY", "AF_XDP")


def opening(family, kinds, protocol=0):
    def open_one():
        refusal = None
        for kind in kinds:
            try:
                socket.socket(family, kind, protocol).close()
                return "a socket of type %d" % kind
            except OSError as error:
                refusal = error
        raise refusal

    return open_one


if not sys.platform.startswith("linux"):
    FAMILIES = {name: getattr(socket, name) for name in FAMILIES if hasattr(socket, name)}
for name, family in FAMILIES.items():
    attempt(name, opening(family, (1, 2, 3, 5)), root=name in ROOT)
attempt("raw IP", opening(socket.AF_INET, (socket.SOCK_RAW,), socket.IPPROTO_ICMP), root=True)
report()
