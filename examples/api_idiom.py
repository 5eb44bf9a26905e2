"""The habits of programmatic tool calling in model APIs work unchanged.

There a tool takes one dict and returns a string, so programs are full of
json.loads(await tool({...})). Here a call returns parsed values; one dict is
accepted in place of keywords, a tool's short name where only one server has
it, and json.loads returns what is parsed already.
"""

import json

listing = json.loads(await list_directory({"path": "."}))
files = [line.split()[-1] for line in listing["content"].splitlines() if line.startswith("[FILE]")]
print(f"{len(files)} files: {', '.join(sorted(files))}")

products = json.loads(json.loads(await read_text_file({"path": "products.json"}))["content"])
low = [p["name"] for p in products if p["stock"] < 50]
print(f"{len(low)} of {len(products)} products are low in stock: {', '.join(low)}")
