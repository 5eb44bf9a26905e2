"""Calls that do not wait for each other: asyncio.gather, as in any Python.

ptc-mcp has at most execution.max_concurrent_calls under way at once and queues
the rest, so a program need not count.
"""

import asyncio

cities = ["New York", "Chicago", "Los Angeles"]
weather = await asyncio.gather(
    *(mcp__everything__get_structured_content(location=city) for city in cities)
)

warmest = max(zip(cities, weather), key=lambda pair: pair[1]["temperature"])
print(f"asked for {len(weather)} cities at once")
print(f"warmest: {warmest[0]}, {warmest[1]['temperature']} degrees, {warmest[1]['conditions']}")
