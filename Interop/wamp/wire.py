"""A WAMP client that sends single messages: WebSocket and JSON by hand, so that it can flood, stall and disconnect."""
import asyncio
import base64
import json
import os
import struct

PATIENCE = 60  # seconds; limits failures only
ROLES = {
    "publisher": {}, "subscriber": {}, "caller": {"features": {"call_canceling": True, "progressive_call_results": True}},
    "callee": {"features": {"call_canceling": True, "progressive_call_results": True}},
}
(HELLO, WELCOME, ABORT, CHALLENGE, AUTHENTICATE, GOODBYE, ERROR) = (1, 2, 3, 4, 5, 6, 8)
(PUBLISH, PUBLISHED, SUBSCRIBE, SUBSCRIBED, EVENT) = (16, 17, 32, 33, 36)
(CALL, RESULT, REGISTER, REGISTERED, INVOCATION, YIELD) = (48, 50, 64, 65, 68, 70)


class Ended(Exception):
    """The router closed with this code, 1006 for none."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


def frame(message):
    """A text frame (RFC 6455 section 5.2), masked with zeros, so that the payload stays as it is."""
    payload = message if isinstance(message, bytes) else json.dumps(message, separators=(",", ":")).encode()
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", 0x81, 0x80 | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", 0x81, 0xFE, size)
    else:
        head = struct.pack("!BBQ", 0x81, 0xFF, size)
    return head + bytes(4) + payload


class Peer:
    def __init__(self, port, buffer=1 << 16, source=None, forwarded=None):
        """source: the address to connect from; forwarded: the client address that it sends as a proxy."""
        self.port, self.buffer, self.request, self.session = port, buffer, 0, None
        self.source, self.forwarded = source, forwarded

    async def open(self):
        """Connects. Returns the status of the answer, 0 for none."""
        self.reader, self.writer = await asyncio.open_connection(
            "127.0.0.1", self.port, limit=self.buffer, local_addr=self.source and (self.source, 0))
        forwarded = f"X-Forwarded-For: {self.forwarded}\r\n" if self.forwarded else ""
        key = base64.b64encode(os.urandom(16)).decode()
        self.writer.write(
            f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"{forwarded}Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: wamp.2.json\r\n\r\n".encode())
        try:
            async with asyncio.timeout(PATIENCE):
                head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return 0
        return int(head.split(b" ")[1])

    async def hello(self, realm="realm1", **details):
        """Sends HELLO. Returns the router's answer."""
        self.say(HELLO, realm, {"roles": ROLES, **details})
        return await self.hear()

    async def join(self, realm="realm1", **details):
        status = await self.open()
        assert status == 101, status
        answer = await self.hello(realm, **details)
        assert answer[0] == WELCOME, answer
        self.session = answer[1]
        return self

    def say(self, *message):
        self.writer.write(frame(list(message)))

    def next(self):
        self.request += 1
        return self.request

    async def drain(self, seconds=PATIENCE):
        """Waits until the router accepts more. Returns whether it did in time."""
        try:
            async with asyncio.timeout(seconds):
                await self.writer.drain()
            return True
        except TimeoutError:
            return False

    async def hear(self):
        """The next message, which must arrive in time."""
        async with asyncio.timeout(PATIENCE):
            return await self.listen()

    async def listen(self):
        while True:
            first, second = await self._read(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack("!H", await self._read(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", await self._read(8))
            payload = await self._read(size)
            if first & 0xF == 1:
                return json.loads(payload)
            if first & 0xF == 8:
                raise Ended(struct.unpack("!H", payload[:2])[0] if len(payload) > 1 else 1005)
            if first & 0xF == 9:
                self.writer.write(struct.pack("!BB", 0x8A, 0x80 | size) + bytes(4) + payload)

    async def _read(self, count):
        try:
            return await self.reader.readexactly(count)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Ended(1006) from None

    async def ask(self, kind, *rest):
        """Sends a request and returns its answer. Events and the like in between are skipped."""
        request = self.next()
        self.say(kind, request, *rest)
        while True:
            answer = await self.hear()
            if answer[0] in (PUBLISHED, SUBSCRIBED, RESULT, REGISTERED) and answer[1] == request:
                return answer
            if answer[0] == ERROR and answer[1:3] == [kind, request]:
                return answer

    def close(self):
        self.writer.close()
