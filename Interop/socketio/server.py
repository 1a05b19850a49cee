"""A Socket.IO server on python-socketio and aiohttp: version 5 speaks protocol 5, and version 4 protocol 4.

    server.py PORT FILE

Namespaces: / is open to all; /chat wants {"token": "good"}, or token=good in the query of the connection; /secret refuses everybody. FILE keeps one line for each event `add` that was
carried out, so a server that was killed continues with the next number. It pings every second.
"""
import asyncio
import importlib.metadata
import logging
import pathlib
import sys
from urllib.parse import parse_qs

import socketio
from aiohttp import web

FILE = pathlib.Path(sys.argv[2])
IS_OLD = importlib.metadata.version("python-socketio").startswith("4.")
if IS_OLD:
    # It gives coroutines to asyncio.wait, which Python 3.11 accepts no more.
    wait = asyncio.wait
    asyncio.wait = lambda waits, **options: wait([asyncio.ensure_future(one) for one in waits], **options)
# Version 4 lets its client ping each second, with a second of grace, and closes a poll that has nothing to say for ping_timeout.
OPTIONS = {"ping_interval": (1, 1), "ping_timeout": 3} if IS_OLD else {"ping_interval": 1, "ping_timeout": 1, "namespaces": ["/", "/chat", "/secret"]}
server = socketio.AsyncServer(async_mode="aiohttp", max_http_buffer_size=1_000_000, **OPTIONS)
numbers = len(FILE.read_text().splitlines()) if FILE.exists() else 0


@server.on("connect")
async def connect(sid, environ, auth=None):
    await server.emit("auth", auth or {}, to=sid)


@server.on("connect", namespace="/chat")
async def connect_chat(sid, environ, auth=None):
    token = (auth or {}).get("token") or parse_qs(environ["QUERY_STRING"]).get("token", [None])[0]
    if token != "good":
        raise socketio.exceptions.ConnectionRefusedError("not authorized", {"code": 7, "token": token})


@server.on("connect", namespace="/secret")
async def connect_secret(sid, environ, auth=None):
    raise socketio.exceptions.ConnectionRefusedError("secret")


@server.on("echo")
async def echo(sid, *arguments):
    await server.emit("echoed", arguments, to=sid)


@server.on("echo", namespace="/chat")
async def echo_chat(sid, *arguments):
    await server.emit("echoed", arguments, to=sid, namespace="/chat")


@server.on("ask")
async def ask(sid, *arguments):
    return arguments


@server.on("drop")
async def drop(sid, *arguments):
    pass


@server.on("silent")
async def silent(sid):
    await asyncio.sleep(3600)


@server.on("question-me")
async def question_me(sid):
    async def question():
        try:
            answer = await server.call("question", ({"n": 1}, b"\x01\x02"), to=sid, timeout=5)
        except socketio.exceptions.TimeoutError:
            answer = "timeout"
        await server.emit("answered", answer, to=sid)

    server.start_background_task(question)


@server.on("count")
async def count(sid, to):
    for number in range(to):
        await server.emit("number", number, to=sid)


@server.on("kick-me", namespace="/chat")
async def kick(sid):
    await server.disconnect(sid, namespace="/chat")


@server.on("join")
async def join(sid):
    entering = server.enter_room(sid, "followers")
    if not IS_OLD:
        await entering
    return True


@server.on("add")
async def add(sid, key):
    global numbers
    with FILE.open("a") as file:
        file.write(f"{key}\n")
    numbers += 1
    number = numbers
    await server.emit("added", number, room="followers")
    return number


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    app = web.Application()
    server.attach(app)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None, shutdown_timeout=1)
