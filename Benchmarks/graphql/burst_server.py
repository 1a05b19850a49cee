"""A server of graphql-transport-ws that sends all events of a subscription at once, so that only the client limits the rate.

    burst_server.py PORT FILE     (FILE is not used)
"""
import asyncio
import json
import struct
import sys

from websockets.asyncio.server import serve


def frame(text: str) -> bytes:
    """A text frame (RFC 6455 §5.2)."""
    payload = text.encode()
    length = len(payload)
    return (bytes([0x81, length]) if length < 126 else struct.pack("!BBH", 0x81, 126, length)) + payload


async def handle(socket):
    async for text in socket:
        message = json.loads(text)
        if message["type"] == "connection_init":
            await socket.send(json.dumps({"type": "connection_ack"}))
        elif message["type"] == "subscribe":
            numbers = range(message["payload"]["variables"]["to"])
            events = [{"id": message["id"], "type": "next", "payload": {"data": {"count": number}}} for number in numbers]
            messages = [*events, {"id": message["id"], "type": "complete"}]
            socket.transport.write(b"".join(frame(json.dumps(each)) for each in messages))


async def main(port):
    async with serve(handle, "127.0.0.1", port, subprotocols=["graphql-transport-ws"], compression=None) as server:
        await server.serve_forever()


asyncio.run(main(int(sys.argv[1])))
