# Title: collect the user's credentials
# Tries: SSH and cloud keys, tokens and password files in every home folder, and the home folders themselves.
# Seen: no home folder of the host is there.
import glob

PLACES = (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".docker/config.json")


def searching(home):
    def search():
        return [path for path in (os.path.join(home, place) for place in PLACES) if os.path.exists(path) and token_in(path)]

    return search


attempt("keys in a home folder", searching(BAIT["home"]))
for path in BAIT["homes"]:
    attempt("the host's " + path, lambda: same_as_host(path), root=True)
if BAIT["inside"]:
    for home in {os.path.expanduser("~"), "/root", *glob.glob("/home/*"), *glob.glob("/Users/*")}:
        attempt("keys in " + home, searching(home))
report()
