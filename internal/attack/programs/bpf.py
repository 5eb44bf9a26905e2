# Title: load programs into the kernel
# Tries: make a BPF map, load a BPF program.
# Seen: refused.


def table():
    os.close(syscall("bpf", 0, ctypes.create_string_buffer(struct.pack("<4I", 2, 4, 8, 1) + bytes(112)), 72))
    return "a map"


def program():
    code = ctypes.create_string_buffer(struct.pack("<QQ", 0x00000000000000B7, 0x0000000000000095))  # r0 = 0; exit
    license = ctypes.create_string_buffer(b"GPL")
    asked = struct.pack("<IIQQ", 1, 2, ctypes.addressof(code), ctypes.addressof(license))
    os.close(syscall("bpf", 5, ctypes.create_string_buffer(asked + bytes(104)), 72))
    return "a program"


attempt("a map", table, root=True)
attempt("a program", program, root=True)
report()
