"""Page after page until the answer is found, and no page more.

Done by direct tool calls, every page would pass through the model's context.
Here the pages are a shop's monthly order files, newest first, and the question
is when a customer last bought something.
"""

import json

wanted = "C005"

listing = (await mcp__filesystem__list_directory(path="orders"))["content"]
pages = sorted((line.split()[-1] for line in listing.splitlines()), reverse=True)

for read, page in enumerate(pages, start=1):
    content = (await mcp__filesystem__read_text_file(path=f"orders/{page}"))["content"]
    orders = [o for o in json.loads(content) if o["customer"] == wanted and o["status"] == "shipped"]
    if orders:
        last = orders[-1]
        print(f"{wanted} last bought on {last['date']}: order {last['order']}, {len(last['lines'])} lines")
        print(f"read {read} of {len(pages)} pages")
        break
else:
    print(f"{wanted} never bought anything")
