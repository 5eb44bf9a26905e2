from __future__ import annotations

import asyncio


async def main() -> int:
    one, two = await asyncio.gather(mcp__t__echo(message="1"), mcp__t__echo(message="2"))
    return int(one) + int(two)


if __name__ == "__main__":
    print(asyncio.run(main()))
    print(asyncio.run(main()))

# prints:
# 3
# 3
