import asyncio
import json

rows = json.loads(await mcp__t__add({"a": 1, "b": 2}))
print(rows["sum"])
print(json.loads('{"plain": [1, 2]}')["plain"])
print(json.loads(await echo({"message": "[1, 2, 3]"})))

results = await asyncio.gather(*[add({"a": i, "b": i}) for i in range(3)])
print([json.loads(r)["sum"] for r in results])

for i in range(10):
    r = json.loads(await add({"a": i, "b": i}))
    if r["sum"] >= 6:
        print("found", i)
        break

# prints:
# 3
# [1, 2]
# [1, 2, 3]
# [0, 2, 4]
# found 3
