"""Floods of plain HTTP from one address: requests whose answers are not read, and bodies that never arrive. Memory is limited, probes
are answered meanwhile, and the memory is released afterwards.

abuse_flood.py PORT PID [KEY [SEATS]]     against a running hub. SEATS is its limit `address.http`
"""
import asyncio
import socket
import sys
import time

import abuse_http
from attack_table import Watch, judge, table

PIPELINED = 400  # connections
BURST = 100 << 10  # bytes of requests on each: 40 MB in all
SLOW = 1000  # connections
# The hub's maximum for one connection of plain HTTP: 16 KiB read, 64 KiB of an answer, 32 KiB of bookkeeping.
# The same again for the allocator and concurrent handshakes.
SEAT = 2 * (16 + 64 + 32) << 10
LEAST_BODY = 16 << 20  # the maximum in the system's buffers, besides the 4 MiB that the hub drops after an answer
PROBES = ("/healthz", "/readyz", "/metrics")


def dial(port, buffer=None):
    peer = socket.socket()
    if buffer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    peer.connect(("127.0.0.1", port))
    peer.setblocking(False)
    return peer


def push(peer, data):
    """Sends what the system accepts. Returns None if the hub has closed."""
    try:
        return peer.send(data)
    except BlockingIOError:
        return 0
    except OSError:
        return None


def is_closed(peer):
    """Returns whether the hub has closed. Reads its output."""
    try:
        while data := peer.recv(1 << 16):
            del data
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


async def probes(port):
    """The answers to the probes, and the longest time in seconds."""
    began = time.monotonic()
    statuses = []
    for path in PROBES:
        try:
            async with asyncio.timeout(5):
                statuses.append((await abuse_http.ask(port, abuse_http.whole(f"GET {path}", key=None, Connection="close")))[0])
        except (TimeoutError, OSError):
            statuses.append(None)
    return statuses, time.monotonic() - began


async def unread(port, pid, report, bound):
    """Pipelined requests from many connections of one address, whose answers are not read."""
    watch = Watch(pid)
    request = abuse_http.whole("GET /page/messages.mjs", key=None)
    burst = request * (BURST // len(request))
    peers, sent = [[dial(port, 4096), 0] for _ in range(PIPELINED)], 0
    try:
        end = time.monotonic() + 4
        while time.monotonic() < end:
            moved = 0
            for peer in peers:
                if peer[1] is not None and peer[1] < len(burst):
                    count = push(peer[0], burst[peer[1]:])
                    peer[1] = None if count is None else peer[1] + count
                    moved += count or 0
            sent += moved
            watch.look()
            await asyncio.sleep(0 if moved else 0.05)
        answers, seconds = await probes(port)
        watch.look()
    finally:
        for peer in peers:
            peer[0].close()
    await asyncio.sleep(2)
    row = watch.row("answers that nobody reads", PIPELINED, sent, bound)
    judge(row, report)
    report(row.kept < bound // 2, "memory of unread answers is released", row.kept)
    report(answers == [200] * len(PROBES), "probes are answered meanwhile", (answers, seconds))
    return row


async def slow(port, pid, report, bound):
    """Bodies with and without a key, of which a byte arrives now and then."""
    watch, peers = Watch(pid), []
    try:
        for number in range(SLOW):
            peer = dial(port)
            push(peer, abuse_http.head(abuse_http.POST, 100_000, key=abuse_http.KEY if number % 2 else None) + b"{")
            peers.append(peer)
            if number % 50 == 0:
                await asyncio.sleep(0)
        answers, seconds = await probes(port)
        began, left = time.monotonic(), peers
        while left and time.monotonic() - began < 20:
            for peer in left:
                push(peer, b" ")
            await asyncio.sleep(1)
            left = [peer for peer in left if not is_closed(peer)]
            watch.look()
        taken = time.monotonic() - began
    finally:
        for peer in peers:
            peer.close()
    await asyncio.sleep(1)
    row = watch.row("bodies that do not come", SLOW, None, bound)
    judge(row, report)
    report(answers == [200] * len(PROBES), "probes are answered beside a thousand slow bodies", (answers, seconds))
    report(not left, "slow bodies are ended at their deadline", f"{len(left)} are open after {taken:.0f} s")
    return row


async def endless(port, report):
    """A body that continues after its request was refused."""
    peer, sent, count = dial(port), 0, 0
    push(peer, abuse_http.head(abuse_http.POST, 1 << 40, key=None))
    end = time.monotonic() + 5
    while time.monotonic() < end and count is not None and sent < 256 << 20:
        count = push(peer, b" " * (1 << 20))
        sent += count or 0
        await asyncio.sleep(0 if count else 0.01)
    peer.close()
    report(count is None and sent < LEAST_BODY + (4 << 20), "a refused body is not read further", f"{sent} bytes, closed: {count is None}")


async def attack(port, pid, report, seats):
    """The memory that the attacks cost a hub with this limit of plain HTTP connections per address, as rows of a table."""
    rows = [await unread(port, pid, report, seats * SEAT), await slow(port, pid, report, seats * SEAT)]
    await endless(port, report)
    return rows


if __name__ == "__main__":
    if len(sys.argv) > 3:
        abuse_http.KEY = sys.argv[3]
    seats = int(sys.argv[4]) if len(sys.argv) > 4 else 100
    told = attack(int(sys.argv[1]), int(sys.argv[2]), lambda good, name, why="": print("ok" if good else "not ok", name, why), seats)
    table(asyncio.run(told))
