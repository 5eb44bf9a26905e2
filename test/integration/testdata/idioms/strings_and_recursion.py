text = """first
  await mcp__t__nothing(1)
'''last'''"""
print(text)
print(f"{text[:5]!r:>10}|{1 + 1=}")


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


print(depth(900))


def decorate(f):
    import functools

    @functools.wraps(f)
    async def wrapper(*args):
        return await f(*args)

    return wrapper


@decorate
async def say(x):
    return await mcp__t__echo(message=x)


print(await say("decorated"), say.__name__)
print([await say(str(i)) for i in range(3)])
print({k: v async for k, v in ((k, await say(k)) for k in "ab")})

# prints:
# first
#   await mcp__t__nothing(1)
# '''last'''
#    'first'|1 + 1=2
# 900
# decorated say
# [0, 1, 2]
# {'a': 'a', 'b': 'b'}
