#!/usr/bin/env python3
"""Sends bad input to a live hub while two honest members send messages. Every bad frame gets an error or a close code, memory is bounded,
and the members are not disturbed. Prints `ok NAME` or `not ok NAME: why`.

abuse.py HOLDFAST DIRECTORY [MUTATIONS [SEED]]

DIRECTORY contains `descriptors`, the output of protoc for rooms.proto.
"""
import asyncio
import base64
import hashlib
import hmac
import json
import random
import secrets
import socket
import sys
import time
import uuid

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

import abuse_descriptors
import abuse_flood
import abuse_http
import abuse_http2
import abuse_limits
import attack_table
from abuse_frames import JSON, Protobuf, samples

HOLDFAST, DIRECTORY = sys.argv[1], sys.argv[2]
MUTATIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 31)
chance = random.Random(SEED)
SECRET = secrets.token_bytes(32)
CODECS = [JSON(), Protobuf(f"{DIRECTORY}/descriptors")]
PLACES = 250  # connections allowed for an address
USER_PLACES = 64
PATIENCE = 60  # seconds; limits failures only
MEMORY = 200 << 20  # bytes of allowed growth of the hub in the whole run
LONGEST = 2  # seconds that a member may wait for an ack; a debug build on two busy processors needed 0.8
passed = failed = 0
costs = []  # the rows of the table
attacked = ""  # the name of the current attack


def report(good, name, why=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(user, seconds=3600, rooms=None, secret=SECRET, header=None, **claims):
    """A JSON Web Token (RFC 7519), signed with HS256 as in RFC 7515."""
    payload = {"sub": user, "exp": int(time.time()) + seconds, "rooms": {"hall": "rwp", "pit": "rwp"} if rooms is None else rooms, **claims}
    signed = f"{encoded(json.dumps(header or {'alg': 'HS256', 'typ': 'JWT'}).encode())}.{encoded(json.dumps(payload).encode())}"
    return f"{signed}.{encoded(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


class Client:
    """A client that sends single frames of the protocol."""

    def __init__(self, socket, user, device=None):
        self.socket, self.user, self.device = socket, user, device or secrets.token_hex(16)

    async def say(self, **frame):
        await self.socket.send(json.dumps(frame))

    async def hear(self, *kinds):
        """The next frame of one of these types."""
        async with asyncio.timeout(PATIENCE):
            while True:
                frame = json.loads(await self.socket.recv())
                if frame["t"] in kinds:
                    return frame

    async def hello(self, shown=None, **more):
        await self.say(t="hello", v=[1], device=self.device, token=token(self.user) if shown is None else shown, **more)
        return await self.hear("welcome", "error")

    async def join(self, room="pit", **more):
        await self.say(t="join", room=room, **more)
        return await self.hear("state", "error")

    async def publish(self, cseq, room="pit", body=None, **more):
        frame = {"t": "pub", "room": room, "cseq": cseq, "id": str(uuid.uuid4()), "at": now(), "type": "t", "body": body or {}, **more}
        await self.say(**frame)
        return frame["id"]

    async def close_code(self):
        """The close code from the hub."""
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    await self.socket.recv()
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006
        except TimeoutError:
            return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def now():
    return int(time.time() * 1000)


class Hub:
    async def start(self):
        with open(f"{DIRECTORY}/secret", "wb") as file:
            file.write(SECRET)
        with open(f"{DIRECTORY}/keys", "w", encoding="ascii") as file:
            file.write(abuse_http.KEY + "\n")
        self.port = free_port()
        self.process = await asyncio.create_subprocess_exec(
            HOLDFAST, "serve", "hub", "--port", str(self.port), "--data", f"{DIRECTORY}/data", "--secret-file", f"{DIRECTORY}/secret",
            "--api-key-file", f"{DIRECTORY}/keys", "--limit", f"address.connections={PLACES}", "--limit", f"user.connections={USER_PLACES}",
            "--limit", f"address.http={abuse_http.PLACES}",
            stdout=asyncio.subprocess.PIPE, stderr=open(f"{DIRECTORY}/hub.log", "wb"))
        async with asyncio.timeout(PATIENCE):
            await self.process.stdout.readline()

    def connect(self, codec=CODECS[0], **options):
        return connect(f"ws://127.0.0.1:{self.port}/rooms", subprotocols=[codec.protocol], max_size=None, proxy=None, **options)

    @property
    def memory(self):
        return attack_table.memory(self.process.pid)


class Stalls:
    """The time that this process delayed its own tasks. Attacks and members share it, so its stalls are not the hub's."""

    def __init__(self):
        self.total = 0.0

    async def run(self):
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            self.total += max(time.monotonic() - began - 0.01, 0)


stalls = Stalls()


class Honest:
    """A member that sends ten messages a second, and records what it receives."""

    def __init__(self, hub, user):
        self.hub, self.user = hub, user
        self.said, self.acked, self.heard, self.ends = 0, 0, [], False
        self.longest, self.times = (0.0, ""), {}

    async def run(self):
        async with self.hub.connect() as socket:
            client = Client(socket, self.user)
            await client.hello()
            await client.join("hall")
            listening = asyncio.create_task(self.listen(socket))
            while not self.ends:
                self.said += 1
                self.times[self.said] = (time.monotonic(), stalls.total)
                await client.publish(self.said, "hall", {"n": self.said})
                await asyncio.sleep(0.1)
            async with asyncio.timeout(PATIENCE):
                while self.acked < self.said:
                    await asyncio.sleep(0.05)
            # Wait for the last messages of the other member.
            await asyncio.sleep(1)
            listening.cancel()

    async def listen(self, socket):
        async for text in socket:
            frame = json.loads(text)
            if frame["t"] == "ack":
                now = time.monotonic()
                # A stall that has just ended counts when it is noticed.
                await asyncio.sleep(0.02)
                for ack in frame["acks"]:
                    self.acked = max(self.acked, ack["cseq"])
                    if began := self.times.pop(ack["cseq"], None):
                        self.longest = max(self.longest, (now - began[0] - (stalls.total - began[1]), attacked))
            elif frame["t"] == "msg":
                self.heard += [(item["seq"], item["user"], item["cseq"]) for item in frame["items"]]



async def mutations(hub):
    """Every type of frame, mutated in every way, in both encodings, before and after the hello."""
    codes, errors = {codec.protocol: {} for codec in CODECS}, 0
    for number in range(MUTATIONS):
        codec = CODECS[number % 2]
        shown = token(f"eve{number}")
        good = samples(shown)
        hello, join, *others = good[0], good[2], *good[2:]
        bad = good[number // 2 % len(good)]
        ends = codes[codec.protocol]
        async with hub.connect(codec) as socket:
            try:
                if bad is not hello or chance.random() < 0.1:
                    await socket.send(codec.encoded({**hello, "device": secrets.token_hex(16), "joins": []}))
                    if chance.random() < 0.8:
                        await socket.send(codec.encoded({"t": "join", "room": join["room"]}))
                    for _ in range(chance.randrange(3)):
                        await socket.send(codec.encoded(chance.choice(others)))
                # Text that is not UTF-8 is sent as it is, which is another fault of the peer.
                await socket.send(codec.mutated(bad, chance), text=(chance.random() < 0.95) == (codec is CODECS[0]))
                await socket.send(codec.encoded({"t": "ping", "n": 7}))
                async with asyncio.timeout(PATIENCE):
                    while True:
                        frame = codec.decoded(await socket.recv())
                        errors += frame["t"] == "error"
                        if frame["t"] == "pong":
                            break
                ends["open"] = ends.get("open", 0) + 1
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else 1006
                ends[code] = ends.get(code, 0) + 1
    wanted = {"open", 1002, 1003, 1007, 1008, 1009, *range(4000, 4200)}
    print(f"# {MUTATIONS} mutated conversations, seed {SEED}: {errors} errors, ends {codes}")
    for name, ends in codes.items():
        report(set(ends) <= wanted and len(ends) > 1, f"mutated frames of {name} end in an error or a close by code", ends)


# Rules one by one -------------------------------------------------------------------------------------------------------------------

def changed(shown):
    """The token with another letter in the middle of its signature, where every letter matters."""
    place = len(shown) - 20
    return shown[:place] + ("A" if shown[place] != "A" else "B") + shown[place + 1:]


async def refused_tokens(hub):
    none = {"alg": "none", "typ": "JWT"}
    bad = {
        "expired": token("eve", -3600), "not yet valid": token("eve", nbf=int(time.time()) + 3600),
        "signed by another": token("eve", secret=b"x" * 32), "unsigned": token("eve", header=none).rsplit(".", 1)[0] + ".",
        "of algorithm none": token("eve", header=none), "of another algorithm": token("eve", header={"alg": "RS256"}),
        "without a user": token(""), "a development token": "dev:eve", "nothing": "", "nonsense": "a.b.c", "long": "x" * 60_000,
        "changed": changed(token("eve")),
    }
    for name, shown in bad.items():
        async with hub.connect() as socket:
            client = Client(socket, "eve")
            try:
                answer = await client.hello(shown)
                code = await client.close_code()
                good = answer["t"] == "error" and answer["code"] in (2001, 2002, 1001) and 4000 < code < 4200
            except ConnectionClosed as closed:
                answer, good = closed, False
        report(good, f"a token that is {name} is refused", answer)


async def ended_token(hub):
    async with hub.connect() as socket:
        client = Client(socket, "brief")
        short = token("brief", 2)
        await client.hello(short)
        code = await client.close_code()
    report(code == 4001, "a connection ends with its token", code)
    async with hub.connect() as socket:
        answer = await Client(socket, "brief").hello(short)
    report(answer["t"] == "error", "an ended token that is replayed is refused", answer)
    async with hub.connect() as socket:
        client = Client(socket, "mallory")
        await client.hello()
        await client.say(t="auth", token=token("somebody-else"))
        answer = await client.hear("error", "renewed")
    report(answer["t"] == "error", "a connection does not change its user by a fresh token", answer)


async def forged(hub):
    async with hub.connect() as socket:
        client = Client(socket, "forger")
        await client.hello()
        await client.publish(1)
        answer = await client.hear("error", "ack", "hole")
        report(answer["t"] == "error" and answer["code"] in (1004, 3003), "a client that has not joined cannot publish", answer)
        answer = await client.join("secret-room")
        report(answer["t"] == "error" and answer["code"] == 3001 or not answer.get("rights"), "a foreign room is closed", answer)
        state = await client.join()
        await client.publish(state.get("high", 0) + 5)
        answer = await client.hear("hole", "ack", "error")
        report(answer["t"] == "hole" and answer["expected"] == state.get("high", 0) + 1, "a number too far ahead gets hole", answer)
        name = await client.publish(1)
        await client.hear("ack")
        await client.publish(1)
        answer = await client.hear("ack")
        ack = answer["acks"][0]
        report(ack.get("dup") and ack["id"] == name, "a repeated number is acked with the stored message", answer)
        await client.publish(2, body="x" * 100_000)
        answer = await client.hear("error", "ack")
        report(answer["t"] == "error" and answer["code"] == 4002, "a payload that is too long is refused", answer)
        await client.publish(2, at=now() - 100 * 86_400_000)
        answer = await client.hear("error", "ack")
        report(answer["t"] == "error" and answer["code"] == 4004, "a message that was issued too long ago is refused", answer)
        await client.publish(2, at=now() + 86_400_000)
        answer = await client.hear("error", "ack")
        report(answer["t"] == "error" and answer["code"] == 4005, "a message from the future is refused", answer)
        for frame in ({"t": "pres", "status": 7}, {"t": "sig", "type": "cursor"}, {"t": "typ", "on": "yes"}):
            await client.say(room="pit", **frame)
            answer = await client.hear("error", "pong")
            good = answer["t"] == "error" and answer["code"] == 1001 and answer.get("room") == "pit" and answer["retry"] == "never"
            report(good, f"a frame {frame['t']} with a flaw is refused alone", answer)
        await client.say(t="hist", ref=9, room="secret-room", before=1 << 52, limit=1 << 52)
        answer = await client.hear("error", "page")
        report(answer["t"] == "error", "history of a foreign room is refused", answer)
        await client.say(t="read", room="pit", seq=1 << 52)
        await client.say(t="hist", ref=10, room="pit", before=1 << 52, limit=1 << 52)
        answer = await client.hear("error", "page")
        report(answer["t"] == "page" and len(answer["items"]) <= 500, "the size of a page is limited", str(answer)[:200])
        device = client.device
    async with hub.connect() as socket:
        thief = Client(socket, "thief", device)
        answer = await thief.hello()
        if answer["t"] == "welcome":
            answer = await thief.join()
        report(answer["t"] == "error" and answer["code"] == 2003, "somebody else's device is refused", answer)
    async with hub.connect() as socket:
        client = Client(socket, "giant")
        await client.hello()
        await socket.send("x" * (3 << 20))
        report(await client.close_code() in (1009, 4100), "a frame that is too long ends the connection")
    async with hub.connect() as socket:
        client = Client(socket, "twice")
        await client.hello()
        await client.say(t="hello", v=[1], device=client.device, token=token("twice"))
        report(await client.close_code() == 4100, "a second hello ends the connection")
    async with hub.connect() as socket:
        await Client(socket, "x").say(t="hello", v=[7, 8], device=secrets.token_hex(16), token=token("x"))
        answer = json.loads(await socket.recv())
        report(answer["t"] == "error" and answer["code"] == 1002 and 1 in answer["versions"], "a wrong version gets the known ones", answer)
    async with hub.connect() as socket:
        report(await Client(socket, "mute").close_code() == 4002, "a silent connection is closed")


async def floods(hub):
    async with hub.connect() as socket:
        client = Client(socket, "flooder")
        await client.hello()
        await client.join()
        refused, codes = 0, []

        async def listen():
            nonlocal refused
            try:
                async for text in socket:
                    refused += json.loads(text)["t"] == "error"
            except ConnectionClosed:
                pass
        listening = asyncio.create_task(listen())
        try:
            for cseq in range(1, 20_001):
                await client.publish(cseq)
        except ConnectionClosed as closed:
            codes.append(closed.rcvd.code if closed.rcvd else 1006)
        await asyncio.sleep(0.5)
        listening.cancel()
        report(refused > 0 or 4003 in codes, "a flood of publications is refused", (refused, codes))
    async with hub.connect() as socket, hub.connect() as watching:
        client, watcher = Client(socket, "typist"), Client(watching, "watcher")
        for each in (client, watcher):
            await each.hello()
            await each.join()
        began, open_ended = time.monotonic(), True
        try:
            for _ in range(30_000):
                await client.say(t="typ", room="pit", on=True)
            await client.say(t="ping", n=1)
            await client.hear("pong")
        except ConnectionClosed as closed:
            open_ended = closed.rcvd is not None and closed.rcvd.code == 4003
        seconds = time.monotonic() - began
        await watcher.say(t="ping", n=1)
        told = 0
        while (frame := await watcher.hear("typ", "pong"))["t"] == "typ":
            told += frame["user"] == "typist" and frame.get("on", False)
        # Three at once, and one per second.
        report(open_ended and 1 <= told <= 5 + seconds, "a flood of ephemeral frames is not passed on", (open_ended, told, seconds))
    counted = await crowd(hub, lambda number: "many", 200)
    report(counted == {"welcome": USER_PLACES, "error": 200 - USER_PLACES}, "the connections of a user are limited", counted)
    await abuse_http.places(hub.port, report)
    counted = await crowd(hub, lambda number: f"of-one-address-{number}", PLACES + 40)
    report(
        counted.get("error", 0) >= 40 and counted.get("welcome", 0) > PLACES // 2 and len(counted) == 2,
        "an address has so many connections and no more", counted)


async def crowd(hub, name, count):
    """Opens this number of connections. Returns the first answer of each."""
    sockets, answers = [], {}
    try:
        for number in range(count):
            codec = CODECS[number % 2]
            sockets.append((codec, await hub.connect(codec, open_timeout=PATIENCE).__aenter__()))
            hello = {"t": "hello", "v": [1], "device": secrets.token_hex(16), "token": token(name(number))}
            try:
                await sockets[-1][1].send(codec.encoded(hello))
            except ConnectionClosed:
                pass  # The answer can still be read.
        for codec, socket in sockets:
            try:
                answer = codec.decoded(await asyncio.wait_for(socket.recv(), PATIENCE))
                kind = answer["t"] if answer["t"] != "error" or answer["code"] == 4003 else answer["code"]
            except ConnectionClosed as closed:
                kind = closed.rcvd.code if closed.rcvd else 1006
            answers[kind] = answers.get(kind, 0) + 1
        return answers
    finally:
        await asyncio.gather(*(socket.close() for _, socket in sockets), return_exceptions=True)


async def http(hub):
    for attack in abuse_http.ATTACKS:
        await attack(hub.port, report)


async def plain_floods(hub):
    costs.extend(await abuse_flood.attack(hub.port, hub.process.pid, report, abuse_http.PLACES))
    costs.append(await abuse_http2.attack(HOLDFAST, report))
    await abuse_descriptors.attack(HOLDFAST, DIRECTORY, report)


async def limits(_):
    costs.extend(await abuse_limits.run(HOLDFAST, DIRECTORY, free_port, report))


async def slow_reader(hub):
    """A member does not read while the room is busy. The hub must not keep everything for it."""
    async with hub.connect(max_queue=1) as lazy, hub.connect() as socket:
        sleeper = Client(lazy, "sleeper")
        await sleeper.hello()
        await sleeper.join()
        before = hub.memory
        speaker = Client(socket, "speaker")
        await speaker.hello()
        state = await speaker.join()
        high = state.get("high", 0)
        body = "y" * 60_000
        for cseq in range(high + 1, high + 601):
            await speaker.publish(cseq, body=body)
            while (await speaker.hear("ack", "error"))["t"] == "error":
                await asyncio.sleep(0.2)
                await speaker.publish(cseq, body=body)
        grown = hub.memory - before
        print(f"# 36 MB past one who does not read: the hub grew by {grown >> 20} MB")
        report(grown < 30 << 20, "a member that does not read delays nobody and costs no memory", grown)


async def main():
    global attacked
    hub = Hub()
    stalling = asyncio.create_task(stalls.run())
    await hub.start()
    honest = [Honest(hub, "ann"), Honest(hub, "bob")]
    try:
        members = [asyncio.create_task(each.run()) for each in honest]
        await asyncio.sleep(1)
        before = hub.memory
        for attack in (refused_tokens, ended_token, forged, mutations, http, limits, floods, plain_floods, slow_reader):
            attacked = attack.__name__
            try:
                await attack(hub)
            except Exception as error:  # noqa: BLE001: after any error the other attacks still run
                report(False, attack.__name__, repr(error))
        grown = hub.memory - before
        print(f"# the hub grew by {grown >> 20} MB in all")
        report(grown < MEMORY, "memory stays bounded", grown)
        for each in honest:
            each.ends = True
        await asyncio.wait_for(asyncio.gather(*members), 2 * PATIENCE)
        for each in honest:
            report(each.acked == each.said, f"{each.user}'s {each.said} messages were acked during the attacks", each.acked)
        both = [each.heard for each in honest]
        report(
            both[0][-len(both[1]):] == both[1][-len(both[0]):] and len(both[0]) >= honest[0].said + honest[1].said - 20
            and all(next[0] == one[0] + 1 for one, next in zip(both[0], both[0][1:])),
            "both heard the same, without a gap", [len(each) for each in both])
        longest, attack = max(each.longest for each in honest)
        print(f"# longest wait for an ack: {longest:.2f} s, during {attack}; this process itself stalled for {stalls.total:.1f} s")
        report(longest < LONGEST, f"no ack took more than {LONGEST} s", f"{longest:.2f} s during {attack}")
        stalling.cancel()
        attack_table.table(costs)
        hub.process.terminate()
        report(await asyncio.wait_for(hub.process.wait(), PATIENCE) == 0, "the hub still ends cleanly")
    finally:
        if hub.process.returncode is None:
            hub.process.kill()
    print(f"{passed} passed, {failed} failed")
    sys.exit(0 if failed == 0 and passed > 0 else 1)


asyncio.run(main())
