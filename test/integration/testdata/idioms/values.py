import collections
import dataclasses
import datetime
import decimal
import json


@dataclasses.dataclass
class D:
    x: int
    y: tuple


P = collections.namedtuple("P", "a b")
back = await mcp__t__mirror(value={
    "tuple": (1, 2), "set": {3}, "date": datetime.date(2026, 1, 2), "when": datetime.datetime(2026, 1, 2, 3, 4, 5),
    "data": D(1, (2,)), "named": P(1, 2), "bytes": b"ab", 7: "key", None: "none", "nan": float("nan"), "inf": float("inf"),
    "big": 2**70, "text": "h\u00e9\U0001f600",
})
for key in sorted(back):
    print(key, json.dumps(back[key]))
try:
    await mcp__t__mirror(value={"items": [1, object()]})
except TypeError as e:
    print("items[1]" in str(e))
loop = []
loop.append(loop)
try:
    await mcp__t__mirror(value=loop)
except (TypeError, ValueError) as e:
    print("cycle", "itself" in str(e) or "circular" in str(e) or "cycle" in str(e))

# prints:
# [warning: arguments.value has the key 7, which is no string: its text was used]
# [warning: arguments.value.nan is nan, which JSON does not have: null was used]
# 7 "key"
# big 1180591620717411303424
# bytes "YWI="
# data {"x": 1, "y": [2]}
# date "2026-01-02"
# inf null
# named {"a": 1, "b": 2}
# nan null
# null "none"
# set [3]
# text "h\u00e9\ud83d\ude00"
# tuple [1, 2]
# when "2026-01-02T03:04:05"
# True
# cycle True
