"""A session of autobahn-python (asyncio) for the other programs here."""

import asyncio
import ssl
from urllib.parse import urlparse

import txaio

txaio.use_asyncio()
txaio.set_global_log_level("critical")

from autobahn.asyncio.wamp import Session  # noqa: E402
from autobahn.asyncio.websocket import WampWebSocketClientFactory  # noqa: E402
from autobahn.wamp import serializer as serializers  # noqa: E402
from autobahn.wamp.auth import create_authenticator  # noqa: E402
from autobahn.wamp.types import ComponentConfig  # noqa: E402

SERIALIZERS = {
    "json": serializers.JsonSerializer,
    "msgpack": serializers.MsgPackSerializer,
    "cbor": serializers.CBORSerializer,
}


class Refused(Exception):
    """The router refused the session. The first argument is the URI."""


class Peer(Session):
    """A session that reports when it has joined, and why it has left."""

    def __init__(self, realm):
        super().__init__(ComponentConfig(realm))
        self.joined = asyncio.get_running_loop().create_future()
        self.left = asyncio.get_running_loop().create_future()

    def on_join(self, details):
        self.details = details
        self.joined.set_result(details)

    def on_leave(self, details):
        if not self.joined.done():
            self.joined.set_exception(Refused(details.reason, details.message))
        if not self.left.done():
            self.left.set_result(details.reason)
        self.disconnect()

    def on_disconnect(self):
        if not self.joined.done():
            self.joined.set_exception(Refused("disconnected", None))
        if not self.left.done():
            self.left.set_result("disconnected")

    def onUserError(self, failure, message):
        pass


async def join(url, realm, serializer="msgpack", method=None, patience=10, **secrets):
    """Returns a joined session."""
    place = urlparse(url)
    session = Peer(realm)
    if method:
        session.add_authenticator(create_authenticator(method, **secrets))
    factory = WampWebSocketClientFactory(lambda: session, url=url, serializers=[SERIALIZERS[serializer]()])
    factory.setProtocolOptions(openHandshakeTimeout=patience, closeHandshakeTimeout=1, tcpNoDelay=True)
    context = ssl.create_default_context() if place.scheme == "wss" else None
    await asyncio.get_running_loop().create_connection(factory, place.hostname, place.port, ssl=context)
    await asyncio.wait_for(session.joined, patience)
    return session


async def leave(session):
    """Sends GOODBYE, and waits for the answer."""
    session.leave()
    return await asyncio.wait_for(session.left, 5)
