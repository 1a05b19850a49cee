"""aiohttp as an echo server: aiohttp_server.py PORT. DEFLATE=1 accepts permessage-deflate, at zlib's fastest level."""
import contextlib
import os
import sys

import uvloop
from aiohttp import WSMsgType, web


async def echo(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(compress="DEFLATE" in os.environ, max_msg_size=64 << 20)
    await socket.prepare(request)
    with contextlib.suppress(ConnectionResetError):
        async for message in socket:
            if message.type == WSMsgType.TEXT:
                await socket.send_str(message.data)
            elif message.type == WSMsgType.BINARY:
                await socket.send_bytes(message.data)
    return socket


app = web.Application()
app.router.add_get("/{path:.*}", echo)
loop = uvloop.new_event_loop()
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), backlog=4096, access_log=None, print=None, loop=loop)
