"""Receives, sends or asks with the client of python-socketio, and prints the processor time per event.

    client.py URL receive|send|ask EVENTS
"""
import asyncio
import resource
import sys

import socketio


def processor_time():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def main(url, kind, events):
    client = socketio.AsyncClient()
    received, done = 0, asyncio.Event()

    @client.on("number")
    def number(value):
        nonlocal received
        assert value == received
        received += 1
        if received == events:
            done.set()

    await client.connect(url, transports=["websocket"])
    start = processor_time()
    if kind == "receive":
        await client.emit("count", events)
        await done.wait()
    elif kind == "send":
        for value in range(events):
            await client.emit("drop", ("a text", value))
        await client.call("ask", 1)
    else:
        for value in range(events):
            assert list(await client.call("ask", ("a text", value))) == ["a text", value]
    print("microseconds", (processor_time() - start) * 1e6 / events)
    await client.disconnect()


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
