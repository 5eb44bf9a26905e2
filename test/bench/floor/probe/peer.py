"""The bare end of a channel: what a runner would be that only moved frames.

A frame is a 4-byte big-endian length and one JSON object. The host says what to
do, one order at a time:

  {"do": "calls", "n": 1000, "how": "asyncio"}   n round trips, one after the other
  {"do": "gather", "n": 1000}                    n at once
  {"do": "run", "source": "print(1)"}            run a program, send what it prints
  {"do": "take"}                                 parse one frame more

Each is answered with the seconds it took here.
"""
import asyncio
import contextlib
import io
import json
import os
import time


def send(value):
    body = json.dumps(value, separators=(",", ":")).encode()
    data = len(body).to_bytes(4, "big") + body
    while data:
        data = data[os.write(1, data):]


def read_exactly(count):
    body = bytearray(count)
    view, filled = memoryview(body), 0
    while filled < count:
        got = os.readv(0, [view[filled:]])
        if not got:
            os._exit(0)
        filled += got
    return body


def receive():
    return json.loads(read_exactly(int.from_bytes(read_exactly(4), "big")))


def call(number):
    return {"type": "call", "id": number, "tool": "mcp__t__echo", "arguments": {"message": "hello"}}


def calls_blocking(n):
    for number in range(n):
        send(call(number))
        assert receive()["value"] == "hello"


class Frames:
    """Answers to calls, by way of an event loop."""

    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.waiting = {}
        self.rest = b""
        self.loop.add_reader(0, self.readable)

    def readable(self):
        chunk = os.read(0, 1 << 16)
        if not chunk:
            os._exit(0)
        data, start = self.rest + chunk, 0
        while len(data) - start >= 4:
            end = start + 4 + int.from_bytes(data[start : start + 4], "big")
            if end > len(data):
                break
            answer = json.loads(data[start + 4 : end])
            self.waiting.pop(answer["id"]).set_result(answer["value"])
            start = end
        self.rest = data[start:]

    async def call(self, number):
        future = self.waiting[number] = self.loop.create_future()
        send(call(number))
        return await future


async def calls_asyncio(n):
    frames = Frames()
    for number in range(n):
        assert await frames.call(number) == "hello"
    frames.loop.remove_reader(0)


async def gather(n):
    frames = Frames()
    assert await asyncio.gather(*map(frames.call, range(n))) == ["hello"] * n
    frames.loop.remove_reader(0)


send({"ready": True})
while True:
    order = receive()
    begin, answer = time.perf_counter(), {}
    if order["do"] == "run":
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(order["source"], "<program>", "exec"), {"__name__": "__main__"})
        answer["output"] = printed.getvalue()
    elif order["do"] == "take":
        answer["length"] = len(receive()["value"])
    elif order["do"] == "gather":
        asyncio.run(gather(order["n"]))
    elif order["how"] == "asyncio":
        asyncio.run(calls_asyncio(order["n"]))
    else:
        calls_blocking(order["n"])
    answer["seconds"] = time.perf_counter() - begin
    send(answer)
