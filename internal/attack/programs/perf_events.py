# Title: read performance counters
# Tries: perf_event_open on itself and on the whole processor, which leaks what others do.
# Seen: refused.


def counting(pid, cpu):
    def count():
        asked = struct.pack("<IIQ", 1, 112, 0) + bytes(96)  # the software clock
        os.close(syscall("perf_event_open", ctypes.create_string_buffer(asked), pid, cpu, -1, 0))
        return "a counter"

    return count


attempt("of itself", counting(0, -1), root=True)
attempt("of a processor", counting(-1, 0), root=True)
report()
