#!/usr/bin/env python3
"""A board server on Python `websockets` for the sample of "Your own protocol". It cuts its connections and reports its content at the end.

server.py --cuts N [--seed N]

Prints `listening PORT`. On SIGTERM it prints one line of JSON: the texts of each channel in order, the numbers of connections and of cuts,
and how often a post arrived again.
"""
import argparse
import asyncio
import json
import random
import signal

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

PING = 1.0  # seconds
channels = {}  # name → the texts, in order
seen = set()  # (client, id) of every stored post
connections = set()
counts = {"connections": 0, "cuts": 0, "again": 0}


class Visit:
    def __init__(self, connection, chance, cuts):
        # The subscriptions: id → [channel, number of the last item that was sent].
        self.connection, self.followed, self.name, self.cuts = connection, {}, None, cuts
        # The number of messages until the cut.
        self.left = chance.randint(1, 24) if counts["cuts"] < cuts else None

    def spend(self):
        """Cuts the connection at its time: before or after a post is stored or an answer is sent."""
        if self.left is None or counts["cuts"] >= self.cuts:
            return
        self.left -= 1
        if self.left <= 0:
            counts["cuts"] += 1
            self.left = None
            self.connection.transport.abort()
            raise ConnectionError

    async def say(self, kind, **fields):
        self.spend()
        await self.connection.send(json.dumps({kind: fields}))

    async def take(self, kind, fields):
        self.spend()
        if kind == "hello":
            self.name = fields["name"]
            await self.say("welcome")
        elif kind == "post":
            await self.keep(fields)
        elif kind == "follow":
            await self.say("following", id=fields["id"])
            self.followed[fields["id"]] = [fields["channel"], fields["after"]]
            await self.show(fields["channel"])
        elif kind == "unfollow":
            self.followed.pop(fields["id"], None)

    async def keep(self, post):
        if not post["text"]:
            return await self.say("refused", id=post["id"], reason="there is no text")
        if (self.name, post["id"]) in seen:
            counts["again"] += 1
        else:
            seen.add((self.name, post["id"]))
            channels.setdefault(post["channel"], []).append(post["text"])
            for other in list(connections):
                if other is not self:
                    asyncio.ensure_future(other.try_to_show(post["channel"]))
        await self.say("ack", id=post["id"])
        await self.show(post["channel"])

    async def show(self, channel):
        texts = channels.get(channel, [])
        for id, place in list(self.followed.items()):
            while id in self.followed and place[0] == channel and place[1] < len(texts):
                place[1] += 1
                number = place[1]
                await self.say("item", id=id, number=number, text=texts[number - 1])

    async def try_to_show(self, channel):
        try:
            await self.show(channel)
        except (ConnectionClosed, ConnectionError):
            pass

    async def ping(self):
        while True:
            await asyncio.sleep(PING)
            await self.connection.send('{"ping":{}}')


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuts", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)

    async def visit(connection):
        counts["connections"] += 1
        visit = Visit(connection, chance, options.cuts)
        connections.add(visit)
        pinging = asyncio.ensure_future(visit.ping())
        try:
            async for message in connection:
                ((kind, fields),) = json.loads(message).items()
                await visit.take(kind, fields)
        except (ConnectionClosed, ConnectionError):
            pass
        finally:
            pinging.cancel()
            connections.discard(visit)

    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, done.set_result, None)
    async with serve(visit, "127.0.0.1", 0, subprotocols=["board.v1"], ping_interval=None) as server:
        print("listening", server.sockets[0].getsockname()[1], flush=True)
        await done
    print(json.dumps({"channels": channels, **counts}), flush=True)


asyncio.run(main())
