"""Wait for something, asking now and then: one program instead of a dozen turns.

A job runs for a second and then notes in the memory server that it is done.
Here it belongs to the same program; it might as well be a build or an export
that another tool started.
"""

import asyncio

name = "nightly export"


async def job():
    await mcp__everything__trigger_long_running_operation(duration=1, steps=2)
    await mcp__memory__create_entities(
        entities=[{"name": name, "entityType": "job", "observations": ["finished"]}]
    )


async def finished():
    while True:
        graph = await mcp__memory__open_nodes(names=[name])
        if graph["entities"]:
            return graph["entities"][0]["observations"]
        await asyncio.sleep(0.3)


await mcp__memory__delete_entities(entityNames=[name])
running = asyncio.create_task(job())
observations = await asyncio.wait_for(finished(), timeout=30)
await running
print(f"{name}: {', '.join(observations)}")
