#!/usr/bin/env python3
"""A room server of python-socketio as in its documentation: it joins rooms, and sends messages on. It stores nothing."""
import sys

import socketio
import uvloop
from aiohttp import web

server = socketio.AsyncServer(async_mode="aiohttp", cors_allowed_origins="*", ping_timeout=120)


@server.on("join")
async def join(sid: str, room: str) -> bool:
    await server.enter_room(sid, room)
    return True


@server.on("pub")
async def publish(sid: str, room: str, body: object) -> bool:
    await server.emit("msg", body, room=room)
    return True


def main() -> None:
    uvloop.install()
    app = web.Application()
    server.attach(app)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), backlog=1024, access_log=None, print=None)


if __name__ == "__main__":
    main()
