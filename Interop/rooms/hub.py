"""A hub of ours that can be killed, and a member that uses its protocol through Python's websockets."""
import asyncio
import contextlib
import json
import pathlib
import sys
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from suite import PATIENCE, Program, free_port  # noqa: E402
from websockets.asyncio.client import connect  # noqa: E402


class Hub(Program):
    """`holdfast serve hub` on a directory and a port that stay the same over restarts."""

    def __init__(self, holdfast, directory, *options):
        port = free_port()
        command = [holdfast, "serve", "hub", *(options or ["--dev"]), "--quiet", "--port", str(port), "--data", str(directory)]
        super().__init__(port, *command, errors=directory.parent / "hub.log")
        self.holdfast = holdfast

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


class Member:
    """A member of a room without a store, so it joins from the beginning each time."""

    def __init__(self, hub, room, name):
        self.hub, self.room, self.name = hub, room, name
        self.device, self.next, self.entries, self.members, self.typing = uuid.uuid4().hex, 1, [], {}, []
        self.changed = asyncio.Event()

    async def __aenter__(self):
        url = f"ws://127.0.0.1:{self.hub.port}/rooms"
        self.socket = await connect(url, subprotocols=["holdfast.rooms.v1.json"], proxy=None, max_size=None)
        await self.say(t="hello", v=[1], device=self.device, token=f"dev:{self.name}", agent="Python")
        await self.join()
        self.listening = asyncio.ensure_future(self.listen())
        await self.until(lambda: self.is_live)
        return self

    async def __aexit__(self, *_):
        self.listening.cancel()
        await self.socket.close()

    is_live = False
    epoch = None

    async def join(self):
        cursor = {"epoch": self.epoch, "seq": len(self.entries)} if self.epoch else {"seq": -1_000_000}
        await self.say(t="join", room=self.room, limit=1_000_000, presence=True, next=self.next, **cursor)

    async def say(self, **frame):
        await self.socket.send(json.dumps(frame))

    async def listen(self):
        async for text in self.socket:
            frame = json.loads(text)
            if frame["t"] == "state":
                if frame.get("snapshot") and frame.get("from", 1) > 1:
                    await self.complete(frame)
                self.epoch = frame["epoch"]
                self.take(frame.get("items", []))
                if frame.get("more"):
                    await self.join()
                else:
                    self.is_live = True
            elif frame["t"] == "msg":
                self.take(frame["items"])
            elif frame["t"] == "typ":
                self.typing.append((frame["user"], frame.get("on", False)))
            elif frame["t"] == "members":
                if frame.get("full"):
                    self.members = {}
                self.members |= {member["conn"]: member for member in frame.get("members", [])}
                for gone in frame.get("gone", []):
                    self.members.pop(gone, None)
            self.changed.set()

    async def complete(self, state):
        """A snapshot contains only the last entries, so the earlier ones are requested."""
        before, older = state["from"], []
        while before > 1:
            await self.say(t="hist", ref=before, room=self.room, before=before, limit=500)
            while (page := json.loads(await self.socket.recv()))["t"] != "page":
                pass
            if not page.get("items"):
                break
            older = page["items"] + older
            before = page["items"][0]["seq"]
        self.take(older)

    def take(self, items):
        for item in items:
            if item["seq"] == len(self.entries) + 1:
                self.entries.append(item)
            elif item["seq"] > len(self.entries):
                raise RuntimeError(f"{item['seq']} follows {len(self.entries)}")

    async def send(self, text, name=None):
        """`name`: the id of the message, which must be unique."""
        number, self.next = self.next, self.next + 1
        message = {"type": "chat.text", "body": {"text": text}, "id": name or str(uuid.uuid4()), "at": int(1000 * time.time())}
        await self.say(t="pub", room=self.room, cseq=number, **message)

    async def until(self, condition, seconds=PATIENCE):
        return await until(self.changed, condition, seconds)

    @property
    def texts(self):
        return [entry["body"]["text"] for entry in self.entries if entry["type"] == "chat.text"]


class Swift:
    """A member of a room through our own client: `holdfast rooms tail` receives, `holdfast rooms send` sends."""

    def __init__(self, hub, room, name):
        self.hub, self.ids, self.changed = hub, [], asyncio.Event()
        self.where = [f"ws://127.0.0.1:{hub.port}/rooms", "--room", room, "--name", name]

    async def __aenter__(self):
        self.process = await asyncio.create_subprocess_exec(
            self.hub.holdfast, "rooms", "tail", *self.where, "--from", "beginning", stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
        self.listening = asyncio.ensure_future(self.listen())
        return self

    async def __aexit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        await self.process.wait()
        await self.listening

    async def listen(self):
        async for line in self.process.stdout:
            entry = json.loads(line)
            # A snapshot replaces the entries.
            if entry.get("replaced"):
                self.ids.clear()
            elif "id" in entry:
                self.ids.append(entry["id"])
            self.changed.set()

    async def send(self, text):
        """Waits until it is stored."""
        process = await asyncio.create_subprocess_exec(
            self.hub.holdfast, "rooms", "send", *self.where, text, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL)
        if await asyncio.wait_for(process.wait(), PATIENCE) != 0:
            raise RuntimeError("it could not be sent")

    async def until(self, condition, seconds=PATIENCE):
        return await until(self.changed, condition, seconds)


async def until(changed, condition, seconds):
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not condition():
                changed.clear()
                await changed.wait()
    return condition()


async def log_of(hub, room):
    """All entries of a room, requested anew."""
    async with Member(hub, room, "auditor") as auditor:
        return auditor.entries
