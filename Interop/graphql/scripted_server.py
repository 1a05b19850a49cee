"""A server of graphql-transport-ws that does on purpose what real servers seldom do.

    scripted_server.py PORT

The path says what it does:
  ping-first      sends a ping with a payload before the acknowledgement, and returns the pong as data
  never-ack       never acknowledges                     wrong-first     sends a result before the acknowledgement, once
  late            sends results for unknown and ended operations
  badjson         sends `{` after the first acknowledgement   unknown-type    sends an unknown type after the acknowledgement
  binary          sends a binary message after the acknowledgement
  close-CODE      closes with CODE at the first operation of the first connection
  drop-N          aborts the TCP connection after N results; the next connection continues the count
  silent          acknowledges, and answers nothing on the first connection
  no-subproto     accepts without a subprotocol           wrong-subproto  picks one that was not offered
"""
import asyncio
import json
import sys

from websockets.asyncio.server import serve

COUNTS: dict[str, int] = {}


async def handle(socket):
    path = socket.request.path.lstrip("/")
    COUNTS[path] = COUNTS.get(path, 0) + 1
    connection = COUNTS[path]

    async def send(**fields):
        await socket.send(json.dumps(fields))

    async def receive():
        return json.loads(await socket.recv())

    if path == "wrong-first" and connection == 1:
        await receive()
        await send(id="1", type="next", payload={"data": {"v": 1}})
        return await socket.wait_closed()
    assert (await receive())["type"] == "connection_init"
    if path == "never-ack" and connection == 1:
        return await socket.wait_closed()
    pong = None
    if path == "ping-first":
        await send(type="ping", payload={"k": 1})
        pong = await receive()
    await send(type="connection_ack", payload={"connection": connection})
    if path == "badjson" and connection == 1:
        await socket.send("{")
    if path == "unknown-type":
        await send(type="zzz")
    if path == "binary":
        await socket.send(b"\x00\x01")
    while True:
        message = await receive()
        if path == "silent" and connection == 1:
            continue
        if message["type"] == "ping":
            await send(type="pong", **({"payload": message["payload"]} if "payload" in message else {}))
        if message["type"] != "subscribe":
            continue
        operation = message["id"]
        if path.startswith("close-") and connection == 1:
            return await socket.close(int(path[6:]), "scripted")
        if path.startswith("drop-"):
            for _ in range(int(path[5:])):
                COUNTS["sent"] = COUNTS.get("sent", 0) + 1
                await send(id=operation, type="next", payload={"data": {"v": COUNTS["sent"]}})
            await asyncio.sleep(0.05)
            return socket.transport.abort()
        if path == "late":
            await send(id="ghost", type="next", payload={"data": {"v": 0}})
            await send(id="4711", type="complete")
        await send(id=operation, type="next", payload={"data": {"v": 1, "pong": pong}})
        await send(id=operation, type="complete")
        if path == "late":
            await send(id=operation, type="next", payload={"data": {"v": 2}})
            await send(id=operation, type="complete")


def pick(connection, offered):
    path = connection.request.path
    if path == "/no-subproto":
        return None
    return "chat" if path == "/wrong-subproto" else "graphql-transport-ws"


async def main():
    async with serve(handle, "127.0.0.1", int(sys.argv[1]), select_subprotocol=pick, ping_interval=None):
        await asyncio.Future()


asyncio.run(main())
