"""Which accounts are we about to lose, and who should call them when?

Reads a year of orders and returns through the filesystem server and what is
known about each account through the memory server: 198 kB of results. Prints five
lines.
"""

import asyncio
import csv
import json
from collections import defaultdict

read = mcp__filesystem__read_text_file
open_nodes = mcp__memory__open_nodes


async def text(path):
    return (await read(path=path))["content"]


async def rows(path):
    return list(csv.DictReader((await text(path)).splitlines()))


# One listing tells which months there are; then everything is read at once.
listing = (await mcp__filesystem__list_directory(path="orders"))["content"]
months = sorted(line.split()[-1] for line in listing.splitlines() if line.startswith("[FILE]"))

customers, spring, autumn, *orders = await asyncio.gather(
    rows("customers.csv"),
    rows("returns-2026-h1.csv"),
    rows("returns-2026-h2.csv"),
    *(text(f"orders/{month}") for month in months),
)
orders = [order for month in orders for order in json.loads(month)]
returned = {(r["order"], r["sku"]): int(r["quantity"]) for r in spring + autumn}

# Net sales of each customer in each half of the year.
sales = defaultdict(lambda: [0.0, 0.0])
for order in orders:
    if order["status"] != "shipped":
        continue
    half = 0 if order["date"] < "2026-07" else 1
    for line in order["lines"]:
        kept = line["quantity"] - returned.get((order["order"], line["sku"]), 0)
        sales[order["customer"]][half] += kept * line["unit_price"]

# Those that bought less than half as much, the biggest loss first.
lost = sorted(
    (c for c in customers if sales[c["id"]][1] < sales[c["id"]][0] / 2),
    key=lambda c: sales[c["id"]][1] - sales[c["id"]][0],
)

# What is known about them, and about the teams that look after them.
names = [c["name"] for c in lost]
regions = sorted({c["region"] for c in lost})
known = await asyncio.gather(
    *(open_nodes(names=[name]) for name in names),
    *(open_nodes(names=[f"{region} desk"]) for region in regions),
)
notes = {e["name"]: e["observations"] for graph in known for e in graph["entities"]}

for customer in lost[:4]:
    before, after = sales[customer["id"]]
    account = notes[customer["name"]]
    ends = next(n for n in account if n.startswith("contract ends"))
    calls = next(n for n in notes[f"{customer['region']} desk"] if n.startswith("calls on"))
    print(f"{customer['name']}: {before:,.0f} -> {after:,.0f}, {ends}; {customer['region']} desk {calls}")

gone = sum(sales[c["id"]][0] - sales[c["id"]][1] for c in lost)
print(f"{len(lost)} of {len(customers)} accounts fell by more than half, {gone:,.0f} in all, over {len(orders)} orders")
