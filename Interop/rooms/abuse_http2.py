"""HTTP/2 connections that request a page repeatedly, grant a large window, and never read. The hub's queues must be limited.

abuse_http2.py HOLDFAST     prints `ok NAME` or `not ok NAME: why`
"""
import asyncio
import resource
import socket
import struct
import sys
import time

from attack_table import SLACK, Watch, judge, table

FILES = 1024  # descriptors of the server
PLACES = 640 + 256  # the streams and connections that it then accepts, and those that it refuses
PEERS = 40  # concurrent connections; as many closed ones may still be closing
BURST = 20  # concurrent requests; more than 100 open ones end a connection
SECONDS = 6
PATH = "/quotes/table.mjs"
ANSWER = 16 << 10  # bytes, more than the page's longest script with its head
STREAM = 16 << 10  # bytes for a stream besides its answer
QUEUE = 2 * 64 << 10  # bytes of a connection on the way to the system, and of input
REFUSED = 100 * 4 << 10  # bytes of a connection for refused streams


def frame(kind, flags, stream, payload=b""):
    """RFC 9113 §4.1."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def request(method, stream):
    """Literals without an index (RFC 7541 §6.2.2), except `:scheme: http`."""
    fields = b"\x86" + b"".join(
        bytes([place, len(text)]) + text.encode() for place, text in ((2, method), (4, PATH), (1, "127.0.0.1")))
    return frame(1, 5, stream, fields)


class Peer:
    """One connection that sends as many bytes as the system accepts."""

    def __init__(self, port, method):
        self.method, self.stream, self.waiting = method, 1, b""
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)
        # The largest SETTINGS_INITIAL_WINDOW_SIZE, a WINDOW_UPDATE of the connection, and an acknowledgement of the settings.
        most = (1 << 31) - 1
        self.waiting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, struct.pack(">HI", 4, most))
        self.waiting += frame(8, 0, 0, struct.pack(">I", most - 65_535)) + frame(4, 1, 0)

    def push(self):
        """Sends more requests. Returns the number of bytes that the system took, None after the server has ended the connection."""
        if not self.waiting:
            self.waiting = b"".join(request(self.method, self.stream + 2 * number) for number in range(BURST))
            self.stream += 2 * BURST
        try:
            count = self.socket.send(self.waiting)
        except BlockingIOError:
            return 0
        except OSError:
            return None
        self.waiting = self.waiting[count:]
        return count


def fight(port, watch):
    """The numbers of connections opened, of those that the server ended, and of the bytes it accepted."""
    peers, opened, ended, sent = [], 0, 0, 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        # Without a body an answer is complete at once. With a body the stream stays.
        while len(peers) < PEERS:
            peers.append(Peer(port, "GET" if opened % 2 else "HEAD"))
            opened += 1
        for peer in list(peers):
            count = peer.push()
            if count is None:
                peer.socket.close()
                peers.remove(peer)
                ended += 1
            sent += count or 0
        watch.look()
        time.sleep(0.05)
    for peer in peers:
        peer.socket.close()
    return opened, ended, sent


async def attack(holdfast, report):
    """A row of the table."""
    process = await asyncio.create_subprocess_exec(
        holdfast, "serve", "quotes", "--http2", "--quiet", "--port", "0", "--rate", "1", stdout=asyncio.subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)))
    try:
        url = await asyncio.wait_for(process.stdout.readline(), 60)
        port = int(url.split(b":")[2].split(b"/")[0])
        # The first connection of a server costs more than the others.
        Peer(port, "GET").push()
        await asyncio.sleep(0.5)
        watch = Watch(process.pid)
        opened, ended, sent = fight(port, watch)
        bound = PLACES * (ANSWER + STREAM) + 2 * PEERS * (QUEUE + REFUSED) + SLACK
        row = watch.row("pages over HTTP/2 that nobody reads", opened, sent, bound)
        print(f"# {opened} connections of HTTP/2 asked for {sent >> 10} KB of requests, {ended} of them were ended")
        judge(row, report)
        return row
    finally:
        process.terminate()
        await process.wait()


if __name__ == "__main__":
    table([asyncio.run(attack(sys.argv[1], lambda good, name, why="": print("ok" if good else "not ok", name, why)))])
