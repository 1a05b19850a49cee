"""picows as an echo server, with its core API: picows_server.py PORT."""
import logging
import sys

import uvloop
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_create_server


class Echo(WSListener):
    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.CLOSE:
            transport.send_close(frame.get_close_code(), frame.get_close_message())
            transport.disconnect()
        else:
            transport.send(frame.msg_type, frame.get_payload_as_memoryview(), frame.fin)

    def pause_writing(self) -> None:
        pass

    def resume_writing(self) -> None:
        pass


logging.disable(logging.WARNING)  # otherwise one line for each message to a peer that has gone


async def main() -> None:
    server = await ws_create_server(lambda _: Echo(), "127.0.0.1", int(sys.argv[1]), backlog=4096, max_frame_size=64 << 20)
    await server.serve_forever()


uvloop.run(main())
