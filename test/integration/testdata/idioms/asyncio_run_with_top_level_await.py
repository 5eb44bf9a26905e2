import asyncio


async def main():
    return await mcp__t__echo(message="inner")


print(await mcp__t__echo(message="outer"))
print(asyncio.run(main()))
print(await main())

# prints:
# outer
# inner
# inner
