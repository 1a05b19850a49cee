"""A GraphQL server on Ariadne and uvicorn: ws://…/graphql speaks graphql-transport-ws, ws://…/legacy speaks graphql-ws.

    ariadne_server.py PORT

Both refuse a client whose payload of connection_init is {"token": "bad"}.
"""
import asyncio
import sys
from datetime import timedelta

import uvicorn
from ariadne import QueryType, SubscriptionType, make_executable_schema
from ariadne.asgi import GraphQL
from ariadne.asgi.handlers import GraphQLTransportWSHandler, GraphQLWSHandler
from ariadne.exceptions import WebSocketConnectionError
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute

SCHEMA = """
type Query { hello(name: String = "world"): String! }
type Subscription { count(to: Int!, delayMs: Int = 1): Int! failsAt(at: Int!): Int! }
"""
query, subscription = QueryType(), SubscriptionType()


@query.field("hello")
def hello(*_, name="world"):
    return f"hello {name}"


@subscription.source("count")
async def count(*_, to, delayMs=1):
    for number in range(to):
        yield number
        await asyncio.sleep(delayMs / 1000)


@subscription.source("failsAt")
async def fails_at(*_, at):
    for number in range(at):
        yield number
    raise ValueError("boom")


@subscription.field("count")
@subscription.field("failsAt")
def number(value, *_, **__):
    return value


def on_connect(_, payload):
    if isinstance(payload, dict) and payload.get("token") == "bad":
        raise WebSocketConnectionError({"reason": "bad token"})


schema = make_executable_schema(SCHEMA, query, subscription)
new = GraphQL(
    schema, websocket_handler=GraphQLTransportWSHandler(on_connect=on_connect, connection_init_wait_timeout=timedelta(seconds=3)))
legacy = GraphQL(schema, websocket_handler=GraphQLWSHandler(on_connect=on_connect, keepalive=1))
app = Starlette(routes=[WebSocketRoute("/graphql", new), WebSocketRoute("/legacy", legacy)])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), ws="wsproto", log_level="error")
