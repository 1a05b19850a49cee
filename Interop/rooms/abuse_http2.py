"""Connections of HTTP/2 that ask for a page again and again, allow any number of bytes, and never read one: what waits has a bound.

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
PLACES = 640 + 256  # streams and connections that it then takes, and those that it tells that there are too many
PEERS = 40  # connections at once; as many that the server has ended may still be closing
BURST = 20  # requests at once; more than 100 that are open end a connection
SECONDS = 6
PATH = "/quotes/table.mjs"
ANSWER = 16 << 10  # bytes, more than the page's longest script and its head have
STREAM = 16 << 10  # bytes that a stream may take beside its answer
QUEUE = 2 * 64 << 10  # bytes that a connection may hold of what is on its way to the system, and of what was read
REFUSED = 100 * 4 << 10  # bytes that a connection may hold of streams that there was no room for


def frame(kind, flags, stream, payload=b""):
    """RFC 9113 §4.1."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def request(method, stream):
    """Literals without an index (RFC 7541 §6.2.2), but for `:scheme: http`."""
    fields = b"\x86" + b"".join(
        bytes([place, len(text)]) + text.encode() for place, text in ((2, method), (4, PATH), (1, "127.0.0.1")))
    return frame(1, 5, stream, fields)


class Peer:
    """One connection, in so many bytes as the system takes."""

    def __init__(self, port, method):
        self.method, self.stream, self.waiting = method, 1, b""
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)
        # All that may be said: SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_UPDATE of the connection, and an acknowledgement of what comes.
        most = (1 << 31) - 1
        self.waiting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, struct.pack(">HI", 4, most))
        self.waiting += frame(8, 0, 0, struct.pack(">I", most - 65_535)) + frame(4, 1, 0)

    def push(self):
        """Asks for more; how many bytes of it the system took, None when the server has ended the connection."""
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
    """How many connections were opened, how many of them the server ended, and how many bytes it took."""
    peers, opened, ended, sent = [], 0, 0, 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        # Without a body an answer is over when it has been made; with one the stream stays.
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
        # A server's first connection costs more than the others.
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
