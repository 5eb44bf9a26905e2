import atexit
import sys

atexit.register(print, "at exit")
try:
    sys.exit(0)
except SystemExit as e:
    print("caught", e.code)
print("last")
exit()

# prints:
# caught 0
# last
# at exit
