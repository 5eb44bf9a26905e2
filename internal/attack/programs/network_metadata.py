# Title: fetch credentials from the cloud's metadata service
# Tries: HTTP to the metadata addresses of the large clouds, and to a stand-in on the host.
# Seen: nothing can be reached.
import urllib.request

ADDRESSES = ["127.0.0.1:%d" % BAIT["http"]]
if BAIT["inside"]:
    ADDRESSES += ["169.254.169.254", "169.254.170.2", "[fd00:ec2::254]", "100.100.100.200", "metadata.google.internal"]


def fetching(address):
    def fetch():
        with urllib.request.urlopen("http://%s/latest/meta-data/" % address, timeout=2) as answer:
            return "answered %d" % answer.status

    return fetch


for address in ADDRESSES:
    attempt(address, fetching(address))
report()
