import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor


async def say(x):
    return await mcp__t__echo(message=x)


results = []
threads = [threading.Thread(target=lambda i=i: results.append(asyncio.run(say(str(i))))) for i in range(4)]
for t in threads:
    t.start()
while any(t.is_alive() for t in threads):
    await asyncio.sleep(0.01)
print(sorted(results))
print(await asyncio.to_thread(sum, [1, 2, 3]))
with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(lambda x: x * 2, [1, 2])))

# prints:
# [0, 1, 2, 3]
# 6
# [2, 4]
