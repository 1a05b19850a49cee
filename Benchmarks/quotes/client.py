#!/usr/bin/env python3
"""Reads a feed of quotes with Python's `websockets`, and its `msgpack` or `json`. Prints one line of JSON.

client.py URL json|msgpack SECONDS BUSY-MILLISECONDS

With BUSY-MILLISECONDS the consumer needs this time for each message, as if it drew it.
"""
import asyncio
import json
import pathlib
import re
import sys
import time

import msgpack
from websockets.asyncio.client import connect

URL, ENCODING, SECONDS, BUSY = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
SUBSCRIBE = {"type": "subscribe", "id": 1, "symbols": ["*"]}
encode, decode = (json.dumps, json.loads) if ENCODING == "json" else (msgpack.packb, msgpack.unpackb)


def resident_kilobytes():
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1])


class Book:
    """The newest quote of each symbol. It relies on the server: a gap ends the program."""

    def __init__(self):
        self.quotes = {}
        self.sequence = self.ticks = self.messages = self.conflated = 0

    def apply(self, message):
        """The symbols that changed, or nothing for another kind of message."""
        kind = message["type"]
        if kind not in ("snapshot", "ticks"):
            return None
        self.sequence += 1
        if message["seq"] != self.sequence:
            sys.exit("the feed has a gap")
        self.messages += 1
        if kind == "snapshot":
            for symbol, _, *quote in message["quotes"]:
                self.quotes[symbol] = quote
            return None
        self.conflated += message.get("conflated") or 0
        ticks = message["ticks"]
        self.ticks += len(ticks)
        quotes = self.quotes
        for tick in ticks:
            quote = quotes[tick[0]]
            quote[0] = tick[1]
            mask, index = tick[2], 3
            for field in range(1, 6):
                if mask & 1:
                    quote[field] += tick[index]
                    index += 1
                mask >>= 1
        return ticks


async def main():
    book, ages, memory = Book(), [], []
    begun = begun_cpu = ticks = messages = None
    measured = 0
    async with connect(URL, subprotocols=[f"holdfast.quotes.v1.{ENCODING}"], compression=None, proxy=None, max_size=None) as socket:
        await socket.send(encode(SUBSCRIBE))
        async for data in socket:
            message = decode(data)
            changed = book.apply(message)
            if begun is None:
                if message["type"] == "snapshot" and message["last"]:
                    begun, begun_cpu, ticks, messages = time.monotonic(), time.process_time(), book.ticks, book.messages
                    memory.append(resident_kilobytes())
                continue
            if BUSY and changed:
                time.sleep(BUSY / 1000)
                now = time.time() * 1000
                ages += [now - book.quotes[tick[0]][5] for tick in changed]
            elif changed:
                ages.append(time.time() * 1000 - book.quotes[changed[-1][0]][5])
            now = time.monotonic()
            if now - measured > 0.5:
                measured = now
                memory.append(resident_kilobytes())
            if now - begun >= SECONDS:
                break
        seconds, cpu = time.monotonic() - begun, time.process_time() - begun_cpu
    memory.append(resident_kilobytes())
    ages.sort()

    def share(part):
        return ages[int((len(ages) - 1) * part)] if ages else None

    print(json.dumps({
        "seconds": seconds, "ticks": book.ticks - ticks, "messages": book.messages - messages, "shown": len(ages), "cpu": cpu,
        "p50": share(0.5), "p99": share(0.99), "most": share(1), "memory": memory, "conflated": book.conflated,
    }))


asyncio.run(main())
