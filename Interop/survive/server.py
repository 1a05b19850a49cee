#!/usr/bin/env python3
"""Python `websockets` as the server for the runs with faults; see ../README.md.

server.py survive-server --port N
"""
import asyncio
import os
import signal
import sys
import time
from http import HTTPStatus

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

SLOWNESS = 0.7  # seconds for each message on the path /slow
newest = {}  # client → its newest connection


def say(line):
    # Written at once, because the process may be killed.
    os.write(1, f"{line}\n".encode())


def token(request):
    client, _, expiry = request.headers.get("Authorization", "").removeprefix("Bearer ").partition(".")
    return client, int(expiry or 0) - time.time_ns() // 1_000_000


def admit(connection, request):
    client, left = token(request)
    if left > 0:
        say(f"opened {client} {left}")
        return None
    say(f"refused {client}")
    return connection.respond(HTTPStatus.UNAUTHORIZED, "expired\n")


async def accuse_if_alive(older, client):
    try:
        await (await older.ping())
        say(f"double {client}")
    except ConnectionClosed:
        pass  # the older connection was gone, and only this side had not noticed


async def echo(connection):
    client, _ = token(connection.request)
    accusation = None
    if older := newest.get(client):
        accusation = asyncio.create_task(accuse_if_alive(older, client))
    newest[client] = connection
    try:
        async for message in connection:
            if connection.request.path == "/slow":
                await asyncio.sleep(SLOWNESS)
            await connection.send(message)
    except ConnectionClosed:
        pass
    finally:
        if newest.get(client) is connection:
            del newest[client]
        if accusation:
            await accusation


async def main():
    port = int(sys.argv[sys.argv.index("--port") + 1])
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])  # the thread that started this process has blocked it
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_reader(0, lambda: os.read(0, 1) or os._exit(0))  # the parent process is gone
    async with serve(echo, "127.0.0.1", port, process_request=admit):
        say(f"listening {port}")
        await stop.wait()


asyncio.run(main())
