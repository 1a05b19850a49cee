"""An echo server for hypercorn that prints the HTTP version of each WebSocket."""


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        return await send({"type": "lifespan.shutdown.complete"})
    if scope["type"] != "websocket":
        raise RuntimeError("only WebSockets here")
    await receive()
    if scope["path"] == "/closed":
        return await send({"type": "websocket.close"})
    await send({"type": "websocket.accept"})
    print("opened over HTTP/" + scope["http_version"].removesuffix(".1").removesuffix(".0"), flush=True)
    path = scope["path"].split("/")
    if path[1] == "close":
        return await send({"type": "websocket.close", "code": int(path[2]), "reason": path[3] if len(path) > 3 else ""})
    while (event := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "bytes": event.get("bytes"), "text": event.get("text")})
