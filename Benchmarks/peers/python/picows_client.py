"""picows as a client, with its core API: picows_client.py MODE PORT SIZE COUNT."""
import asyncio
import time

import uvloop
from measure import Measure, check
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect


class Client(WSListener):
    """The workloads as callbacks: the core API has no `async` functions for messages."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.counted = 0
        self.trips = 0
        self.is_finished = False
        self.room = asyncio.Event()
        self.room.set()

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.TEXT:
            self.finish(transport)
            total = int(frame.get_payload_as_ascii_text()) if self.measure.mode == "send" else self.counted
            check("messages", total, self.measure.count)
        elif frame.msg_type == WSMsgType.BINARY:
            check("size of a message", frame.payload_size, self.measure.size)
            if self.measure.mode == "ping":
                self.pong(transport)
            else:
                self.counted += 1

    def pause_writing(self) -> None:
        self.room.clear()

    def resume_writing(self) -> None:
        self.room.set()

    async def start(self, transport: WSTransport) -> None:
        if self.measure.mode == "ping":
            return self.ping(transport)
        self.measure.start()
        if self.measure.mode == "receive":
            return transport.send(WSMsgType.TEXT, self.measure.order.encode())
        for _ in range(self.measure.count):
            transport.send(WSMsgType.BINARY, self.measure.payload)
            if not self.room.is_set():
                await self.room.wait()
        transport.send(WSMsgType.TEXT, b"end")

    def ping(self, transport: WSTransport) -> None:
        if self.trips == self.measure.warm_up:
            self.measure.start()
        self.sent = time.perf_counter()
        transport.send(WSMsgType.BINARY, self.measure.payload)

    def pong(self, transport: WSTransport) -> None:
        if self.trips >= self.measure.warm_up:
            self.measure.samples.append(time.perf_counter() - self.sent)
        self.trips += 1
        if self.trips == self.measure.warm_up + self.measure.count:
            self.finish(transport)
        else:
            self.ping(transport)

    def finish(self, transport: WSTransport) -> None:
        self.measure.stop()
        self.is_finished = True
        transport.disconnect()


async def main() -> None:
    measure = Measure()
    transport, client = await ws_connect(lambda: Client(measure), measure.url, max_frame_size=64 << 20)
    await client.start(transport)
    await transport.wait_disconnected()
    check("answers", int(client.is_finished), 1)
    measure.print()


uvloop.run(main())
