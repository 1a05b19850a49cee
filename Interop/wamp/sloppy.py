"""sloppy.py PORT REALM: xconn's router, which handles calls and events but few errors. Prints `listening PORT`."""

import asyncio
import sys

from xconn.router import Router
from xconn.server import Server


async def main():
    router = Router()
    router.add_realm(sys.argv[2])
    await Server(router).start("127.0.0.1", int(sys.argv[1]))
    print("listening", sys.argv[1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
