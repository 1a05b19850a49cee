"""Limits for one user against all others: rooms, bandwidth of signals, disk space. abuse.py runs this on a hub of its own with
small limits."""
import asyncio
import contextlib
import json
import pathlib
import re
import secrets
import time
import uuid

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

import abuse_http
from attack_table import SLACK, Watch, judge

PATIENCE = 60  # seconds; limits failures only
USER_ROOMS = 200
QUOTA = 1 << 20  # bytes that a user may store in a day
ROOM = 5 << 19  # bytes that a room may hold
TOTAL = 16 << 20  # bytes for the log
JOURNAL = 16 << 20  # extra bytes: the hub checks once a second, and a checkpoint copies the journal into the file
OPTIONS = [
    "--dev", "--limit", f"user.rooms={USER_ROOMS}", "--quota-user", str(QUOTA), "--quota-room", str(ROOM), "--quota-total", str(TOTAL),
]
# The hub's memory for a connection: input that it has not processed, and ephemeral frames that the client has not taken.
UNHEARD, EPHEMERAL = 256 << 10, 64 << 10
# Seconds for an ack while another user sends signals. An idle hub needs 35 ms. A debug build on two busy processors
# needed 400 ms.
LONGEST = 0.5


class Guest:
    """A client that ignores its frames but counts them."""

    def __init__(self, socket, user):
        self.socket, self.user = socket, user
        self.frames, self.bytes, self.changed = [], 0, asyncio.Event()

    @classmethod
    @contextlib.asynccontextmanager
    async def at(cls, port, user):
        url = f"ws://127.0.0.1:{port}/rooms"
        async with connect(url, subprotocols=["holdfast.rooms.v1.json"], max_size=None, proxy=None) as socket:
            guest = cls(socket, user)
            listening = asyncio.ensure_future(guest.listen())
            try:
                await guest.say(t="hello", v=[1], device=secrets.token_hex(16), token=f"dev:{user}")
                await guest.until(lambda: guest.of("welcome"))
                yield guest
            finally:
                listening.cancel()

    async def listen(self):
        with contextlib.suppress(ConnectionClosed):
            async for text in self.socket:
                self.bytes += len(text)
                frame = json.loads(text)
                if frame["t"] != "sig":
                    self.frames.append(frame)
                self.changed.set()

    async def say(self, **frame):
        await self.socket.send(json.dumps(frame))

    def of(self, *kinds):
        return [frame for frame in self.frames if frame["t"] in kinds]

    async def until(self, condition):
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    async def publish(self, cseq, room, body):
        now = int(time.time() * 1000)
        await self.say(t="pub", room=room, cseq=cseq, id=str(uuid.uuid4()), at=now, type="t", body=body)


async def publishing(port, waits):
    """Another user publishes in another room, and records the time of each ack."""
    async with Guest.at(port, "honest") as guest:
        await guest.say(t="join", room="elsewhere")
        await guest.until(lambda: guest.of("state"))
        while True:
            began = time.monotonic()
            await guest.publish(len(waits) + 1, "elsewhere", "x")
            await guest.until(lambda: sum(len(frame["acks"]) for frame in guest.of("ack")) > len(waits))
            waits.append(time.monotonic() - began)
            await asyncio.sleep(0.05)


async def rooms(port, report, *_):
    """A user opens rooms over many connections up to the limit."""
    async with contextlib.AsyncExitStack() as stack:
        for number in range(4):
            guest = await stack.enter_async_context(Guest.at(port, "eve"))
            for place in range(100):
                await guest.say(t="join", room=f"held {number} {place}")
            await guest.until(lambda guest=guest: len(guest.of("state", "error")) == 100)
            if number == 3:
                errors = guest.of("error")
                report(
                    len(errors) == 100 and all((each["code"], each["retry"]) == (4003, "after") for each in errors),
                    "a user has so many rooms, with all connections, and is told when to ask again", guest.frames[-1])
        async with Guest.at(port, "bob") as bob:
            await bob.say(t="join", room="held 3 99")
            await bob.until(lambda: bob.of("state", "error"))
            report(bob.of("state"), "another user can join meanwhile", bob.frames)
    async with Guest.at(port, "eve") as guest:
        await guest.say(t="join", room="again")
        await guest.until(lambda: guest.of("state", "error"))
        report(guest.of("state"), "rooms that were left do not count", guest.frames)


async def signals(port, report, pid, _):
    """A user sends long signals over many connections to a room with many members."""
    waits = []
    async with contextlib.AsyncExitStack() as stack:
        hearers = [await stack.enter_async_context(Guest.at(port, f"u{number}")) for number in range(40)]
        speakers = [await stack.enter_async_context(Guest.at(port, "eve")) for _ in range(8)]
        for guest in hearers + speakers:
            await guest.say(t="join", room="signals")
        for guest in hearers + speakers:
            await guest.until(lambda guest=guest: guest.of("state"))
        watch = await stack.enter_async_context(Watch(pid))
        honest = asyncio.create_task(publishing(port, waits))
        stack.callback(honest.cancel)
        while len(waits) < 5:
            assert not honest.done(), honest
            await asyncio.sleep(0.05)
        quiet = max(waits)
        waits.clear()
        began, before, said = time.monotonic(), sum(guest.bytes for guest in hearers), 0
        while time.monotonic() - began < 5:
            for guest in speakers:
                await guest.say(t="sig", room="signals", type="cursor", body="x" * 4000)
                said += 4000
            await asyncio.sleep(1 / 30)
        # Earlier frames arrive before the pong.
        for guest in hearers:
            await guest.say(t="ping", n=1)
        for guest in hearers:
            await guest.until(lambda guest=guest: guest.of("pong"))
        taken = time.monotonic() - began
        told = sum(guest.bytes for guest in hearers) - before
        print(f"# {said >> 20} MB of signals of one user to 40 others in {taken:.0f} s: {told >> 20} MB were told")
        # 64 KiB a second and 256 KiB at once, 40 times, plus framing.
        report(told < 1.2 * 40 * (256 + 64 * taken) * 1024, "signals of one user are delivered within a budget of bytes", told)
        print(f"# {len(waits)} acks in another room meanwhile, the last after {max(waits):.3f} s, {quiet:.3f} s before")
        report(len(waits) > 5 and max(waits) < LONGEST, "publications in another room are acked soon", max(waits))
        # Time to release the memory.
        await asyncio.sleep(1)
        connections = len(hearers) + len(speakers)
        row = watch.row("signals of one user", connections, said, len(speakers) * UNHEARD + connections * EPHEMERAL + SLACK)
        judge(row, report)
        return row


async def answers(port, report, *_):
    """A user sends short requests with long answers over the maximum number of connections."""
    async with contextlib.AsyncExitStack() as stack:
        maker = await stack.enter_async_context(Guest.at(port, "maker"))
        await maker.say(t="join", room="answers")
        await maker.until(lambda: maker.of("state"))
        for cseq in range(1, 17):
            await maker.publish(cseq, "answers", "x" * 60_000)
        await maker.until(lambda: sum(len(frame["acks"]) for frame in maker.of("ack")) == 16)
        askers = [await stack.enter_async_context(Guest.at(port, "mallory")) for _ in range(64)]
        for guest in askers:
            await guest.say(t="join", room="answers", seq=0, limit=1, presence=True)
        for guest in askers:
            await guest.until(lambda guest=guest: guest.of("state"))
            await guest.say(t="pres", room="answers", status="s", meta="m" * 1000)

        async def asked(count, **frame):
            """Sends this request from all connections. Returns the bytes that come back in the next seconds, and the time."""
            began, before = time.monotonic(), sum(guest.bytes for guest in askers)
            for guest in askers:
                guest.frames.clear()
                for number in range(count):
                    await guest.say(ref=number, room="answers", **frame)
                await guest.say(t="ping", n=count)
            for guest in askers:
                await guest.until(lambda guest=guest: guest.of("pong"))
            await asyncio.sleep(3)
            return sum(guest.bytes for guest in askers) - before, time.monotonic() - began

        told, taken = await asked(30, t="members")
        print(f"# 1920 questions for 64 who are present, in {taken:.1f} s: {told >> 10} KB were told")
        most = max(len(guest.of("members")) for guest in askers)
        report(most <= 4 + 2 * taken, "presence is sent about once a second, however often a client asks", (most, taken))
        told, taken = await asked(30, t="hist", before=17, limit=500)
        codes = {frame["code"] for guest in askers for frame in guest.of("error")}
        print(f"# 1920 questions for a megabyte of history, in {taken:.1f} s: {told >> 20} MB were told")
        report(4001 in codes, "questions for history beyond a user's share are refused", codes)
        # 64 MiB at once and 8 MiB a second, the answers of 128 open requests, plus JSON and refusals.
        report(told < 1.2 * (64 + 128 * 0.5 + 8 * taken) * (1 << 20), "history is sent to a user within a budget of bytes", (told, taken))


async def fill(port, user, room):
    """Publishes until a refusal. Returns the number of accepted messages, and the refusal."""
    async with Guest.at(port, user) as guest:
        await guest.say(t="join", room=room)
        await guest.until(lambda: guest.of("state"))
        body, cseq = "x" * 60_000, 0
        while not guest.of("error"):
            cseq += 1
            await guest.publish(cseq, room, body)
            await guest.until(lambda: sum(len(frame["acks"]) for frame in guest.of("ack")) >= cseq or guest.of("error"))
        return cseq - 1, guest.of("error")[0]


async def metric(port, name, condition):
    """A metric, which is updated once a second, when the condition holds. After some seconds its last value."""
    end = time.monotonic() + 10
    while True:
        _, body = await abuse_http.ask(port, abuse_http.whole("GET /metrics", key=None))
        value = float(re.search(rf"^{name} (\S+)$", body.decode(), re.MULTILINE)[1])
        if condition(value) or time.monotonic() > end:
            return value
        await asyncio.sleep(0.2)


async def disk(port, report, pid, data):
    """Users publish until the disk limits."""
    async with Watch(pid) as watch:
        await user(port, report)
        counted = await metric(port, "holdfast_hub_over_quota_total", lambda value: value > 0)
        report(counted == 1, "what a quota refuses is counted", counted)
        # Several users share a room, each with the rest of a quota.
        stored, error = 0, None
        for number in range(ROOM // QUOTA + 2):
            count, error = await fill(port, f"shares{number}", "full")
            stored += count
            if error["text"].startswith("the room"):
                break
        report(
            (error["code"], error["retry"], error["after"]) == (4006, "after", 60_000) and ROOM // 2 < stored * 60_000 < ROOM,
            "a room holds so much, whoever publishes in it", (stored, error))
        number = 0
        while number < 2 * TOTAL // QUOTA and not error["text"].startswith("the hub"):
            number += 1
            count, error = await fill(port, f"many{number}", f"room {number}")
            stored += count
        files = sum(file.stat().st_size for file in pathlib.Path(data).iterdir())
        report(
            (error["code"], error["retry"], error["after"]) == (4006, "after", 10_000) and stored * 60_000 < files < TOTAL + JOURNAL,
            "and the log holds so much in all", (stored, files, error))
        least = 1 + number
        counted = await metric(port, "holdfast_hub_over_quota_total", lambda value: value >= least)
        report(counted >= least, "and the refusals are counted", (counted, least))
    await asyncio.sleep(1)
    # All stored data, if it were held in memory: as entries, and as pages of the file.
    row = watch.row("publications of as much as there is", number + 6, stored * 60_000, 2 * TOTAL + SLACK)
    judge(row, report)
    return row


async def user(port, report):
    """The daily quota of one user."""
    async with Guest.at(port, "eve") as eve, Guest.at(port, "bob") as bob:
        for guest in (eve, bob):
            await guest.say(t="join", room="disk")
            await guest.until(lambda guest=guest: guest.of("state"))
        body, cseq = "x" * 60_000, 0
        while not eve.of("error"):
            cseq += 1
            await eve.publish(cseq, "disk", body)
            await eve.until(lambda: len(eve.of("ack")) >= cseq or eve.of("error"))
        error = eve.of("error")[0]
        report(
            (error["code"], error["retry"], error.get("cseq")) == (4006, "after", cseq) and 0 < error["after"] <= 86_400_000,
            "a user stores so much in a day, and is told when to go on", error)
        report((cseq - 1) * 60_000 < QUOTA, "a user stores no more than the quota", cseq)
        await bob.publish(1, "disk", body)
        await bob.until(lambda: bob.of("ack", "error"))
        report(bob.of("ack"), "others publish meanwhile", bob.of("error"))


def private(directory, report):
    """The files of the hub are closed to other users of the machine."""
    files = [pathlib.Path(directory), *pathlib.Path(directory).iterdir()]
    modes = {file.name: oct(file.stat().st_mode & 0o777) for file in files if file.stat().st_mode & 0o077}
    report(not modes, "the log, its journal and its lock are closed to other users", modes)


async def run(holdfast, directory, free_port, report):
    """Runs everything on a new hub. Returns the rows of the table."""
    rows = []
    port, data = free_port(), f"{directory}/limits"
    with open(f"{directory}/limits.log", "wb") as log:
        hub = await asyncio.create_subprocess_exec(
            holdfast, "serve", "hub", "--port", str(port), "--data", data, *OPTIONS, stdout=asyncio.subprocess.PIPE, stderr=log)
    try:
        async with asyncio.timeout(PATIENCE):
            await hub.stdout.readline()
        for attack in (rooms, signals, answers, disk):
            if row := await attack(port, report, hub.pid, data):
                rows.append(row)
        private(data, report)
        hub.terminate()
        report(await asyncio.wait_for(hub.wait(), PATIENCE) == 0, "a hub with small limits ends cleanly")
        return rows
    finally:
        if hub.returncode is None:
            hub.kill()
