"""websockets as a client: websockets_client.py MODE PORT SIZE COUNT."""
import uvloop
from measure import Measure
from websockets.asyncio.client import ClientConnection, connect


class Connection:
    def __init__(self, connection: ClientConnection) -> None:
        self.write = connection.send
        self.read = connection.recv


async def main() -> None:
    measure = Measure()
    async with connect(measure.url, compression=None, max_size=64 << 20, ping_interval=None) as connection:
        await measure.run(Connection(connection))
        measure.print()


uvloop.run(main())
