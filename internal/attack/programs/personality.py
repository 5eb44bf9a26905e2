# Title: weaken its own address layout
# Tries: personality without address randomisation, and with a readable mapping at zero.
# Seen: refused.

attempt("no randomisation", lambda: in_child(lambda: allowed("personality", 0x0040000)))
attempt("map page zero", lambda: in_child(lambda: allowed("personality", 0x0100000)))
report()
