"""aiohttp as a client: aiohttp_client.py MODE PORT SIZE COUNT."""
import uvloop
from aiohttp import ClientSession, ClientWebSocketResponse
from measure import Measure


class Connection:
    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self.socket = socket

    async def write(self, message: str | bytes) -> None:
        if isinstance(message, str):
            await self.socket.send_str(message)
        else:
            await self.socket.send_bytes(message)

    async def read(self) -> str | bytes:
        return (await self.socket.receive()).data


async def main() -> None:
    measure = Measure()
    async with ClientSession() as session, session.ws_connect(measure.url, compress=0, max_msg_size=64 << 20) as socket:
        await measure.run(Connection(socket))
        measure.print()


uvloop.run(main())
