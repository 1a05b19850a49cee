"""A GraphQL server on Strawberry and uvicorn, with both subprotocols.

    strawberry_server.py PORT FILE

ws://…/graphql is open to all. ws://…/secure wants {"token": "good"} as the payload of connection_init and closes with 4403 otherwise.
FILE keeps one line for each mutation that was carried out, so a server that was killed continues with the next number.
GET /stats tells how many subscriptions began and ended.
"""
import asyncio
import pathlib
import sys
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Optional

import strawberry
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from strawberry.asgi import GraphQL
from strawberry.exceptions import ConnectionRejectionError
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL, GRAPHQL_WS_PROTOCOL

FILE = pathlib.Path(sys.argv[2])
FOLLOWERS: set[asyncio.Queue] = set()
STATS = {"began": 0, "ended": 0}


@strawberry.type
class Query:
    @strawberry.field
    def hello(self, name: str = "world") -> str:
        return f"hello {name}"


@strawberry.type
class Mutation:
    @strawberry.mutation
    def add(self, key: str) -> int:
        with FILE.open("a") as file:
            file.write(key + "\n")
        number = len(FILE.read_text().splitlines())
        for follower in FOLLOWERS:
            follower.put_nowait(number)
        return number


@strawberry.type
class Item:
    v: int

    @strawberry.field
    def half(self) -> Optional[int]:
        if self.v < 0:
            raise ValueError("negative")
        return self.v // 2


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def count(self, to: int, delay_ms: int = 1, start: int = 0) -> AsyncGenerator[int, None]:
        STATS["began"] += 1
        try:
            for number in range(start, to):
                yield number
                await asyncio.sleep(delay_ms / 1000)
        finally:
            STATS["ended"] += 1

    @strawberry.subscription
    async def fails_at(self, at: int) -> AsyncGenerator[int, None]:
        for number in range(at):
            yield number
        raise ValueError(f"boom at {at}")

    @strawberry.subscription
    async def items(self) -> AsyncGenerator[Optional[Item], None]:
        for number in (1, -1, 2):
            yield Item(v=number)

    @strawberry.subscription
    async def whoami(self, info: strawberry.Info) -> AsyncGenerator[str, None]:
        yield str((info.context.get("connection_params") or {}).get("token"))

    @strawberry.subscription
    async def big(self, bytes: int) -> AsyncGenerator[str, None]:
        yield "x" * bytes

    @strawberry.subscription
    async def added(self) -> AsyncGenerator[int, None]:
        follower: asyncio.Queue = asyncio.Queue()
        FOLLOWERS.add(follower)
        try:
            while True:
                yield await follower.get()
        finally:
            FOLLOWERS.discard(follower)


class Secure(GraphQL):
    async def on_ws_connect(self, context):
        if (context.get("connection_params") or {}).get("token") != "good":
            raise ConnectionRejectionError({"reason": "bad token"})
        return {"user": "ann"}


schema = strawberry.Schema(query=Query, mutation=Mutation, subscription=Subscription)
settings = dict(
    subscription_protocols=[GRAPHQL_TRANSPORT_WS_PROTOCOL, GRAPHQL_WS_PROTOCOL], keep_alive=True, keep_alive_interval=1,
    connection_init_wait_timeout=timedelta(seconds=3))


async def stats(request):
    return JSONResponse(STATS)


FILE.touch()
app = Starlette(routes=[
    Route("/stats", stats), WebSocketRoute("/graphql", GraphQL(schema, **settings)), WebSocketRoute("/secure", Secure(schema, **settings))])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), ws="wsproto", log_level="error")
