"""websockets as an echo server: websockets_server.py PORT. DEFLATE=1 accepts permessage-deflate."""
import contextlib
import os
import sys

import uvloop
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory


async def echo(connection: ServerConnection) -> None:
    with contextlib.suppress(ConnectionClosed):
        async for message in connection:
            await connection.send(message)


async def main() -> None:
    deflate = [ServerPerMessageDeflateFactory(compress_settings={"level": 6})] if os.environ.get("DEFLATE") else None
    async with serve(
        echo, "127.0.0.1", int(sys.argv[1]), backlog=4096, compression=None, extensions=deflate, max_size=64 << 20, ping_interval=None
    ) as server:
        await server.serve_forever()


uvloop.run(main())
