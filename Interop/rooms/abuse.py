#!/usr/bin/env python3
"""Bad input to a live hub, while two honest members talk: every bad word gets an error or a close by code, memory stays bounded, and the
members notice nothing. Prints `ok NAME` or `not ok NAME: why`.

abuse.py HOLDFAST DIRECTORY [MUTATIONS [SEED]]
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
from websockets.exceptions import ConnectionClosed, InvalidHandshake

HOLDFAST, DIRECTORY = sys.argv[1], sys.argv[2]
MUTATIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 31)
chance = random.Random(SEED)
SECRET = secrets.token_bytes(32)
PROTOCOL = "holdfast.rooms.v1.json"
PATIENCE = 60  # seconds; bounds failures only
MEMORY = 200 << 20  # bytes that the hub may grow by under all of this
passed = failed = 0


def report(good, name, why=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(user, seconds=3600, rooms=None, secret=SECRET, header=None, **claims):
    """A JSON Web Token, RFC 7519, signed as RFC 7515 says for HS256."""
    payload = {"sub": user, "exp": int(time.time()) + seconds, "rooms": {"hall": "rwp", "pit": "rwp"} if rooms is None else rooms, **claims}
    signed = f"{encoded(json.dumps(header or {'alg': 'HS256', 'typ': 'JWT'}).encode())}.{encoded(json.dumps(payload).encode())}"
    return f"{signed}.{encoded(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


class Client:
    """One who speaks the protocol by hand."""

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
        """The code with which the hub ends it."""
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    await self.socket.recv()
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006
        except TimeoutError:
            return None


def now():
    return int(time.time() * 1000)


class Hub:
    async def start(self):
        with open(f"{DIRECTORY}/secret", "wb") as file:
            file.write(SECRET)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = await asyncio.create_subprocess_exec(
            HOLDFAST, "serve", "hub", "--port", str(self.port), "--data", f"{DIRECTORY}/data", "--secret-file", f"{DIRECTORY}/secret",
            stdout=asyncio.subprocess.PIPE, stderr=open(f"{DIRECTORY}/hub.log", "wb"))
        async with asyncio.timeout(PATIENCE):
            await self.process.stdout.readline()

    def connect(self, **options):
        return connect(f"ws://127.0.0.1:{self.port}/rooms", subprotocols=[PROTOCOL], max_size=None, proxy=None, **options)

    @property
    def memory(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096


class Honest:
    """A member who says something ten times a second, and writes down what it hears."""

    def __init__(self, hub, user):
        self.hub, self.user = hub, user
        self.said, self.acked, self.heard, self.ends = 0, 0, [], False
        self.longest = 0.0

    async def run(self):
        async with self.hub.connect() as socket:
            client = Client(socket, self.user)
            await client.hello()
            await client.join("hall")
            listening = asyncio.create_task(self.listen(socket))
            while not self.ends:
                self.said += 1
                self.since = time.monotonic()
                await client.publish(self.said, "hall", {"n": self.said})
                await asyncio.sleep(0.1)
            async with asyncio.timeout(PATIENCE):
                while self.acked < self.said:
                    await asyncio.sleep(0.05)
            # What the other has said last comes too.
            await asyncio.sleep(1)
            listening.cancel()

    async def listen(self, socket):
        async for text in socket:
            frame = json.loads(text)
            if frame["t"] == "ack":
                self.acked = max(self.acked, *(ack["cseq"] for ack in frame["acks"]))
                self.longest = max(self.longest, time.monotonic() - self.since)
            elif frame["t"] == "msg":
                self.heard += [(item["seq"], item["user"], item["cseq"]) for item in frame["items"]]


# Frames -----------------------------------------------------------------------------------------------------------------------------

def samples():
    """One good frame of each type."""
    room = {"room": "pit"}
    return [
        {"t": "hello", "v": [1], "device": secrets.token_hex(16), "token": token("eve"), "agent": "a", "joins": [{**room, "next": 1}]},
        {"t": "auth", "token": token("eve")},
        {"t": "join", **room, "epoch": "00000000000000aa", "seq": 3, "limit": 10, "presence": True, "next": 1},
        {"t": "leave", **room},
        {"t": "pub", **room, "cseq": 1, "id": str(uuid.uuid4()), "at": now(), "type": "t", "about": {"kind": "edit", "seq": 1}, "body": {"a": [1]}},
        {"t": "pub", **room, "cseq": 1, "id": str(uuid.uuid4()), "void": True},
        {"t": "read", **room, "seq": 1},
        {"t": "hist", "ref": 1, **room, "before": 10, "limit": 5},
        {"t": "pres", **room, "status": "away", "meta": {"a": 1}},
        {"t": "members", **room},
        {"t": "typ", **room, "on": True},
        {"t": "sig", **room, "type": "cursor", "body": {"x": 1}},
        {"t": "ping", "n": 1},
    ]


ODD = [None, True, -1, 0, 1 << 53, 1 << 63, 1 << 64, -(1 << 63), 1.5, 1e308, "", "x" * 70000, "\0", "\u202e", "0" * 32, [], [[]] * 100, {},
       {"t": {}}, [1] * 1000]


def mutated(frame):
    """The frame with something wrong, as bytes."""
    frame = json.loads(json.dumps(frame))
    way = chance.randrange(7)
    key = chance.choice(list(frame))
    if way == 0:
        del frame[key]
    elif way == 1:
        frame[key] = chance.choice(ODD)
    elif way == 2:
        frame[chance.choice(["x", "", "t" * 3000])] = chance.choice(ODD)
    elif way == 3:
        return json.dumps({"t": frame["t"]} | {name: chance.choice(ODD) for name in frame if name != "t"}).encode()
    text = json.dumps(frame).encode()
    if way == 4:
        return text[: chance.randrange(len(text))]
    if way == 5:
        place = chance.randrange(len(text))
        return text[:place] + bytes([chance.randrange(256)]) + text[place + 1:]
    if way == 6:
        depth = chance.choice([10, 1000, 100_000])
        return text[:-1] + b',"y":' + b"[" * depth + b"]" * depth + b"}"
    return text


async def mutations(hub):
    """Every type of frame, changed in every way, before the hello and after it."""
    codes, errors = {}, 0
    for number in range(MUTATIONS):
        async with hub.connect() as socket:
            client = Client(socket, f"eve{number}")
            if chance.random() < 0.8:
                await client.hello()
                if chance.random() < 0.8:
                    await client.join()
            try:
                for _ in range(chance.randrange(1, 4)):
                    await socket.send(json.dumps(chance.choice(samples()[2:])))
                # Text that is no UTF-8 is sent as it is, which is the peer's fault as well.
                await socket.send(mutated(chance.choice(samples())), text=chance.random() < 0.95)
                await client.say(t="ping", n=7)
                async with asyncio.timeout(PATIENCE):
                    while True:
                        frame = json.loads(await socket.recv())
                        errors += frame["t"] == "error"
                        if frame["t"] == "pong":
                            break
                codes["open"] = codes.get("open", 0) + 1
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else 1006
                codes[code] = codes.get(code, 0) + 1
    wanted = {"open", 1002, 1003, 1007, 1008, 1009, *range(4000, 4200)}
    print(f"# {MUTATIONS} mutated conversations, seed {SEED}: {errors} errors, ends {codes}")
    report(set(codes) <= wanted and errors > 0, "mutated frames end in an error or a close by code", codes)


# One rule each ----------------------------------------------------------------------------------------------------------------------

async def refused_tokens(hub):
    none = {"alg": "none", "typ": "JWT"}
    bad = {
        "expired": token("eve", -3600), "not yet valid": token("eve", nbf=int(time.time()) + 3600),
        "signed by another": token("eve", secret=b"x" * 32), "unsigned": token("eve", header=none).rsplit(".", 1)[0] + ".",
        "of algorithm none": token("eve", header=none), "of another algorithm": token("eve", header={"alg": "RS256"}),
        "without a user": token(""), "a development token": "dev:eve", "nothing": "", "nonsense": "a.b.c", "long": "x" * 60_000,
        "changed": token("eve")[:-2] + "xx",
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
        report(answer["t"] == "error" and answer["code"] in (1004, 3003), "who has not joined cannot publish", answer)
        answer = await client.join("secret-room")
        report(answer["t"] == "error" and answer["code"] == 3001 or not answer.get("rights"), "a foreign room is closed", answer)
        state = await client.join()
        await client.publish(state.get("high", 0) + 5)
        answer = await client.hear("hole", "ack", "error")
        report(answer["t"] == "hole" and answer["expected"] == state.get("high", 0) + 1, "a number too far ahead makes a hole", answer)
        name = await client.publish(1)
        await client.hear("ack")
        await client.publish(1)
        answer = await client.hear("ack")
        ack = answer["acks"][0]
        report(ack.get("dup") and ack["id"] == name, "a number used again is acked as what it was", answer)
        await client.publish(2, body="x" * 100_000)
        answer = await client.hear("error", "ack")
        report(answer["t"] == "error" and answer["code"] == 4002, "a payload that is too long is refused", answer)
        await client.publish(2, at=now() - 100 * 86_400_000)
        answer = await client.hear("error", "ack")
        report(answer["t"] == "error" and answer["code"] == 4004, "one that was issued too long ago is refused", answer)
        await client.publish(2, at=now() + 86_400_000)
        answer = await client.hear("error", "ack")
        report(answer["t"] == "error" and answer["code"] == 4005, "one from the future is refused", answer)
        await client.say(t="hist", ref=9, room="secret-room", before=1 << 52, limit=1 << 52)
        answer = await client.hear("error", "page")
        report(answer["t"] == "error", "no pages of a foreign room", answer)
        await client.say(t="read", room="pit", seq=1 << 52)
        await client.say(t="hist", ref=10, room="pit", before=1 << 52, limit=1 << 52)
        answer = await client.hear("error", "page")
        report(answer["t"] == "page" and len(answer["items"]) <= 500, "a page has its bound", str(answer)[:200])
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
        report(answer["t"] == "error" and answer["code"] == 1002 and 1 in answer["versions"], "an unknown version is told the known ones", answer)
    async with hub.connect() as socket:
        report(await Client(socket, "mute").close_code() == 4002, "who says nothing is not waited for")


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
    async with hub.connect() as socket:
        client = Client(socket, "typist")
        await client.hello()
        await client.join()
        try:
            for _ in range(30_000):
                await client.say(t="typ", room="pit", on=True)
            good = True
        except ConnectionClosed as closed:
            good = closed.rcvd is not None and 4000 <= closed.rcvd.code < 4200
        report(good, "a flood of what nobody stores harms nobody")
    sockets = []
    try:
        for number in range(200):
            sockets.append(await hub.connect(open_timeout=PATIENCE).__aenter__())
            await Client(sockets[-1], "many").say(t="hello", v=[1], device=secrets.token_hex(16), token=token("many"))
        answers = []
        for socket in sockets:
            try:
                answers.append(json.loads(await asyncio.wait_for(socket.recv(), PATIENCE))["t"])
            except ConnectionClosed:
                answers.append("closed")
        report(set(answers) != {"welcome"}, "a user has so many connections and no more", len(answers))
    except InvalidHandshake:
        report(True, "a user has so many connections and no more")
    finally:
        await asyncio.gather(*(socket.close() for socket in sockets), return_exceptions=True)


async def slow_reader(hub):
    """Somebody who does not read while the room is full of life: the hub does not keep it all for him."""
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
        report(grown < 30 << 20, "who does not read is not waited for, and costs no memory", grown)


async def main():
    hub = Hub()
    await hub.start()
    honest = [Honest(hub, "ann"), Honest(hub, "bob")]
    try:
        members = [asyncio.create_task(each.run()) for each in honest]
        await asyncio.sleep(1)
        before = hub.memory
        for attack in (refused_tokens, ended_token, forged, mutations, floods, slow_reader):
            try:
                await attack(hub)
            except Exception as error:  # noqa: BLE001: whatever it is, the others are told too
                report(False, attack.__name__, repr(error))
        grown = hub.memory - before
        print(f"# the hub grew by {grown >> 20} MB in all")
        report(grown < MEMORY, "memory stays bounded", grown)
        for each in honest:
            each.ends = True
        await asyncio.wait_for(asyncio.gather(*members), 2 * PATIENCE)
        for each in honest:
            report(each.acked == each.said, f"{each.user}'s {each.said} messages were acked meanwhile", each.acked)
        both = [each.heard for each in honest]
        report(
            both[0][-len(both[1]):] == both[1][-len(both[0]):] and len(both[0]) >= honest[0].said + honest[1].said - 20
            and all(next[0] == one[0] + 1 for one, next in zip(both[0], both[0][1:])),
            "both heard the same, without a gap", [len(each) for each in both])
        print(f"# longest wait for an ack: {max(each.longest for each in honest):.2f} s")
        hub.process.terminate()
        report(await asyncio.wait_for(hub.process.wait(), PATIENCE) == 0, "the hub still ends as it should")
    finally:
        if hub.process.returncode is None:
            hub.process.kill()
    print(f"{passed} passed, {failed} failed")
    sys.exit(0 if failed == 0 and passed > 0 else 1)


asyncio.run(main())
