#!/usr/bin/env python3
"""A client of the rooms protocol, written only from docs/rooms-protocol.md. It shares no code and no data with the other clients.

client.py URL --name NAME --rooms ROOM,… --store FILE --history FILE [--pause MILLISECONDS] [--longest SECONDS]

It sends messages in rooms, stores entries and its outbox in SQLite, and writes its app's events as lines of JSON in the form
of Tests/RoomHistory. It may be killed at any moment, and continues with its store. Orders arrive on standard input: `drain` (send no
more; prints `drained` when the outbox is empty), `present NAME…` and `heads ROOM=SEQ…` (prints `complete` when it has all entries and
sees all members), `finish` (writes its store to the history, and ends).
"""
import argparse
import asyncio
import base64
import json
import os
import random
import sys
import time
import uuid
from json.decoder import scanstring

from client_store import NOWHERE, Entry, Message, Store
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException

ACK_PATIENCE, JOIN_PATIENCE, SETTLING = 10, 15, 30  # seconds
STEADY = 10  # seconds; a shorter connection counts as failed
FAILED_RESUMES = 5  # in a row, before rooms are joined one by one
LIMITS = {"roomWindow": 32, "window": 256, "body": 65536, "page": 500}
DECODER = json.JSONDecoder()


def members_of(text, at=0):
    """The fields of the object at a position, each with its value and its original text. Then the end of the object."""
    fields, at = {}, at + 1
    while text[at] != "}":
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "}":
            break
        key, at = scanstring(text, at + 1)
        while text[at] in " \t\r\n:":
            at += 1
        start = at
        value, at = DECODER.raw_decode(text, at)
        fields[key] = (value, start, at)
        while text[at] in " \t\r\n":
            at += 1
    return fields, at + 1


def entries_of(text):
    """The entries in the field `items` of a frame. Payloads keep their original text."""
    fields, _ = members_of(text, text.index("{"))
    if "items" not in fields:
        return []
    entries, (_, at, end) = [], fields["items"]
    while (at := text.find("{", at, end)) >= 0:
        item, at = members_of(text, at)
        if "bin" in item:
            body = base64.b64decode(item["bin"][0])
        else:
            _, first, last = item["body"]
            body = text[first:last].encode()
        seq, name, device, cseq = (item[key][0] for key in ("seq", "id", "device", "cseq"))
        entries.append(Entry(seq, name.lower(), device.lower(), cseq, digest(body), body))
    return entries


def digest(body):
    """FNV-1a with 64 bits, as in histories."""
    value = 0xCBF29CE484222325
    for byte in body:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


class History:
    """The events of the app, written at once because the client may be killed."""

    def __init__(self, path, who):
        self.who, self.file = who, open(path, "ab", buffering=0)
        self.file.write(b"\n")  # ends a line that a kill has cut

    def note(self, what, room=None, **fields):
        line = {"at": int(time.time() * 1000), "who": self.who, "what": what} | ({"room": room} if room else {}) | fields
        self.file.write(json.dumps(line).encode() + b"\n")


def told(entries):
    return [{"seq": e.seq, "id": e.id, "device": e.device, "cseq": e.cseq, "digest": e.digest} for e in entries]


class Room:
    """One room: what is stored, and its state on this connection."""

    def __init__(self, client, name):
        self.client, self.store, self.name = client, client.store, name
        self.epoch, self.seq, self.proof, self.first, self.next, messages = self.store.room(name)
        self.outbox = {message.cseq: message for message in messages if message.state != "failed"}
        client.history.note("opened", name, epoch=self.epoch, seq=self.seq, count=self.seq - self.first + 1)
        for message in messages:
            if message.state == "failed":
                client.history.note("failed", name, id=message.id, isUncertain=False, text="refused")
        self.fates = {}  # what a renewal has found out, by cseq: free or uncertain
        self.suspicion = 0  # how often the connection was lost while only this room was joined
        self.detach()

    def detach(self):
        """Drops the state of the lost connection."""
        self.has_state = self.is_live = False
        self.high, self.sent, self.hold, self.waits_since, self.resends = 0, 0, 0.0, None, 0
        self.join_sent, self.join_at, self.asked_history, self.segments = None, None, False, {}

    # Joining

    def join_fields(self):
        self.join_sent, self.join_at, self.is_live = time.monotonic(), None, False
        fields = {"room": self.name, "presence": True, "next": self.next}
        if self.epoch == NOWHERE:
            return fields
        shown = {"proof": self.proof} if self.proof else {}
        return fields | shown | {"epoch": self.epoch, "seq": self.seq, "limit": 1000}

    def join(self):
        self.client.say(t="join", **self.join_fields())

    def state(self, frame, entries):
        if self.join_sent is None:
            return
        self.join_sent = None
        seq, to, epoch = frame.get("from", 0), frame.get("to", 0), frame["epoch"]
        if [entry.seq for entry in entries] != list(range(seq, to + 1)):
            raise ValueError(f"a state of {seq} to {to} holds other entries")
        if frame.get("snapshot"):
            # It may end before our cursor in the same epoch: the log was rewound, and we had no proof of the lost entries.
            proved, self.proof = self.proved(entries), frame.get("proof")
            self.store.take(self.name, epoch, to, self.proof, entries, [message.cseq for message, _ in proved], replaces=True)
            self.epoch, self.seq, self.first = epoch, to, to - len(entries) + 1
            self.client.history.note("replaced", self.name, epoch=epoch, seq=to, items=told(entries))
            self.tell(proved, epoch)
        elif epoch != self.epoch or seq > self.seq + 1:
            raise ValueError(f"a state of {epoch} from {seq} for a cursor at {self.seq} of {self.epoch}")
        else:
            self.apply(epoch, entries, frame.get("proof"))
        self.has_state, self.suspicion = True, 0
        if frame.get("more"):
            self.join()
        else:
            self.is_live = True
            self.ask_history(frame.get("base", 1))
        self.see_high(frame.get("high", 0), frame.get("highId"))
        self.pump()

    def ask_history(self, base):
        """Requests the history before the snapshot of a new store."""
        if base < self.first and not self.asked_history:
            self.asked_history = True
            self.client.say(t="hist", ref=1, room=self.name, before=self.first, limit=LIMITS["page"])

    def page(self, frame, entries):
        self.asked_history = False
        if frame["epoch"] == self.epoch and entries and entries[-1].seq == self.first - 1:
            self.store.prepend(self.name, entries)
            self.first = entries[0].seq
            self.client.history.note("paged", self.name, epoch=self.epoch, seq=self.first, items=told(entries))
            self.ask_history(frame.get("base", 1))

    # Entries

    def messages(self, frame, entries):
        if self.is_live:
            self.apply(frame["epoch"], entries, frame.get("proof"))

    def apply(self, epoch, entries, proof):
        """Takes the entries after the cursor. Known entries are dropped, and nothing is taken after a gap."""
        fresh = [entry for entry in entries if entry.seq > self.seq]
        follows = epoch == self.epoch and all(entry.seq == self.seq + 1 + place for place, entry in enumerate(fresh))
        if not follows:
            return self.join()
        if fresh:
            proved = self.proved(fresh)
            self.store.take(self.name, epoch, fresh[-1].seq, proof, fresh, [message.cseq for message, _ in proved])
            self.seq, self.proof = fresh[-1].seq, proof
            self.client.history.note("applied", self.name, epoch=epoch, items=told(fresh))
            self.tell(proved, epoch)
            self.pump()
        elif not entries or entries[-1].seq == self.seq:
            self.proof = proof or self.proof

    def proved(self, entries):
        """The positions of own messages that these entries prove stored."""
        found = []
        for entry in entries:
            if entry.device != self.store.device:
                continue
            self.high = max(self.high, entry.cseq)
            message = self.outbox.get(entry.cseq)
            if entry.cseq >= self.next or (message and message.id != entry.id):
                self.client.renew()
            elif message:
                found.append((self.outbox.pop(entry.cseq), entry.seq))
        return found

    def tell(self, proved, epoch):
        for message, seq in proved:
            self.client.history.note("acked", self.name, id=message.id, epoch=epoch, seq=seq)
        if proved:
            self.progress()

    # The outbox

    def submit(self, kind, body, is_binary, checks=True):
        """Puts a message into the outbox. It is checked first, because the hub closes the connection for an unreadable frame."""
        message = Message(self.next, str(uuid.uuid4()), self.client.now(), kind, body, is_binary)
        self.client.history.note("submitted", self.name, id=message.id, digest=digest(body))
        if len(self.outbox) >= 1000 or checks and (len(body) > LIMITS["body"] or not 1 <= len(kind.encode()) <= 64):
            return self.client.history.note("refused", self.name, id=message.id, text="too many or too long")
        if self.client.barrier:  # the new device will give its number
            self.fates[message.cseq] = "free"
        self.store.queue(self.name, message)
        self.outbox[message.cseq], self.next = message, self.next + 1
        self.client.history.note("queued", self.name, id=message.id)
        self.pump()

    def unsettled(self):
        return [message for message in self.outbox.values() if message.cseq not in self.fates]

    def in_flight(self):
        return [message for message in self.unsettled() if message.cseq <= self.sent]

    def pump(self):
        """Sends what the windows allow, in order."""
        if not self.has_state or not self.client.takes_publications or self.hold > time.monotonic():
            return
        waiting = self.unsettled()
        if waiting and waiting[0].cseq > self.high + 1:  # the hub has less than it acked, so its log was rewound
            if self.client.barrier:
                return self.settle(1, "free")
            return self.client.renew()
        free = min(LIMITS["roomWindow"] - len(self.in_flight()), LIMITS["window"] - self.client.in_flight())
        for message in [message for message in waiting if message.cseq > self.sent][: max(free, 0)]:
            fields = {"t": "pub", "room": self.name, "cseq": message.cseq, "id": message.id}
            if self.client.barrier:
                self.client.say(**fields | {"id": self.client.barrier}, void=True)
            elif message.state == "burning":
                self.client.say(**fields, void=True)
            elif message.is_binary:
                self.client.say(**fields, at=self.at(message), type=message.kind, bin=base64.b64encode(message.body).decode())
            else:
                # The payload keeps its original text.
                head = json.dumps(fields | {"at": self.at(message), "type": message.kind})
                self.client.outgoing.put_nowait(head[:-1] + ',"body":' + message.body.decode() + "}")
            self.sent = message.cseq
            self.waits_since = self.waits_since or time.monotonic()

    def at(self, message):
        """Not later than the hub's clock as far as it is known, because our clock may have been ahead."""
        return min(message.at, self.client.now())

    def progress(self):
        self.resends, self.waits_since = 0, time.monotonic() if self.in_flight() else None

    def rewind(self, cseq):
        self.sent, self.waits_since = min(self.sent, cseq - 1), None

    def acks(self, frame):
        if frame["epoch"] != self.epoch:
            return
        done, failed, renews = [], [], False
        for ack in frame["acks"]:
            cseq, seq, name = ack["cseq"], ack.get("seq", 0), ack.get("id")
            message = self.outbox.get(cseq)
            self.high = max(self.high, cseq)
            if cseq >= self.next:
                renews = True
            elif self.client.barrier and name == self.client.barrier:
                self.settle(cseq, "free")  # the hub has nothing at this number, and so nothing after it
            elif message is None:
                continue
            elif name and name != message.id:
                self.fates[cseq], renews = "free", True
            elif name and seq > 0:
                done.append((message, seq))
            elif message.state == "burning":
                failed.append((message, False))
            else:  # another copy of this store has voided the number, or retention has passed it
                failed.append((message, True))
        if done:
            self.store.remove(self.name, [message.cseq for message, _ in done])
            for message, _ in done:
                del self.outbox[message.cseq]
            self.tell(done, frame["epoch"])
        for message, is_uncertain in failed:
            self.fail(message, is_uncertain)
        self.progress()
        if renews:
            self.client.renew()
        self.pump()

    def fail(self, message, is_uncertain):
        self.store.mark(self.name, message.cseq, "failed")
        self.outbox.pop(message.cseq)
        self.client.history.note("failed", self.name, id=message.id, isUncertain=is_uncertain, text="refused")

    def hole(self, expected):
        if not 1 <= expected <= self.next:
            raise ValueError(f"a hole at {expected} before {self.next}")
        self.high = expected - 1
        self.rewind(expected)
        self.pump()

    def refused(self, frame):
        """A publication was refused, permanently or temporarily."""
        message, retry = self.outbox.get(frame["cseq"]), frame["retry"]
        if message is None or message.cseq > self.sent:
            return
        if retry == "never" and self.client.barrier:
            self.settle(message.cseq, "uncertain")
        elif retry == "never":
            if message.state == "queued":
                self.store.mark(self.name, message.cseq, "burning")
                message.state = "burning"
                self.rewind(message.cseq)
                self.pump()
        elif retry in ("now", "after"):
            self.rewind(message.cseq)
            # Independent of how early it was issued (4005), because either clock may be corrected before.
            most = 600
            if frame["code"] == 4005:
                most = 10
                self.client.say(t="ping", n=1)  # asks for the hub's time
            self.hold = time.monotonic() + min(max(frame.get("after", 0) / 1000, 0.1), most)

    def see_high(self, high, name):
        """Checks the hub's highest number of this device. A higher number or another message comes from another copy of this store."""
        self.high = max(self.high, high)
        message = self.outbox.get(high)
        if message and name and message.id != name:
            self.fates[high] = "free"
            self.client.renew()
        elif high >= self.next:
            self.client.renew()

    def settle(self, cseq, fate):
        for message in self.outbox.values():
            if message.cseq >= cseq:
                self.fates.setdefault(message.cseq, fate)

    # Presence

    def present(self, frame):
        """Each node of the hub reports its own members. `full` may repeat what later versions contain."""
        known = self.segments.get(frame["node"])
        is_same = known and known["incarnation"] == frame["incarnation"]
        version = frame.get("version", 0)
        if frame.get("full"):
            if is_same and version < known["version"]:
                return
            known = self.segments[frame["node"]] = {"incarnation": frame["incarnation"], "members": {}}
        elif not is_same or version != known["version"] + 1:
            return None if is_same and version <= known["version"] else self.client.say(t="members", room=self.name)
        known["version"] = version
        for gone in frame.get("gone", []):
            known["members"].pop(gone, None)
        for member in frame.get("members", []):
            known["members"][member["conn"]] = member["user"]

    def users(self):
        return {user for segment in self.segments.values() for user in segment["members"].values()}

    def tick(self, now):
        if self.join_sent and now - self.join_sent > JOIN_PATIENCE:
            raise ValueError("a join without an answer")
        if self.join_at and now > self.join_at:
            self.join()
        if self.waits_since and now - self.waits_since > ACK_PATIENCE:
            self.resends += 1
            if self.resends > 3:
                raise ValueError("nothing is acked")
            self.rewind(self.in_flight()[0].cseq)
        self.pump()


class Client:
    """The connection and all rooms."""

    def __init__(self, options):
        self.options, is_new = options, not os.path.exists(options.store)
        self.history = History(options.history, options.name)
        if not is_new:
            self.history.note("started")
        self.store = Store(options.store)
        self.offset, self.barrier, self.settle_by, self.takes_publications = 0, None, None, False
        self.outgoing = asyncio.Queue()
        self.rooms = {name: Room(self, name) for name in options.rooms.split(",")}
        self.is_over, self.not_before = False, 0.0
        self.failed_resumes, self.one_by_one, self.is_resuming = 0, False, False

    def say(self, **frame):
        self.outgoing.put_nowait(json.dumps(frame))

    def now(self):
        """Milliseconds of the hub's clock."""
        return int(time.time() * 1000) + self.offset

    def in_flight(self):
        return sum(len(room.in_flight()) for room in self.rooms.values())

    async def run(self):
        failures = 0
        while not self.is_over:
            started = time.monotonic()
            try:
                await self.session()
            except (OSError, TimeoutError, ValueError, WebSocketException) as error:
                print(f"lost: {error!r}", file=sys.stderr, flush=True)
            self.takes_publications = False
            self.note_resume()
            for room in self.rooms.values():
                room.detach()
            failures = 0 if time.monotonic() - started >= STEADY else failures
            pause = random.uniform(0.1, max(min(0.5 * 2 ** min(failures, 10), self.options.longest), 0.1))
            failures += 1
            await asyncio.sleep(max(pause, self.not_before - time.monotonic()))

    def note_resume(self):
        """Checks at the end of a connection whether all its rooms had an answer."""
        unanswered = [room for room in self.rooms.values() if room.join_sent and not room.has_state]
        if self.is_resuming and not self.one_by_one:
            self.failed_resumes = self.failed_resumes + 1 if unanswered else 0
        elif self.is_resuming:
            for room in unanswered:
                room.suspicion += 1
        self.is_resuming = False

    def join_next(self):
        """After too many failed resumes rooms are joined one by one. Rooms that cost a connection wait."""
        rooms = list(self.rooms.values())
        if not self.one_by_one or not self.takes_publications or any(room.join_sent for room in rooms):
            return
        waiting = [room for room in rooms if not room.has_state and room.join_at is None]
        if waiting:
            waiting[0].join()
        elif all(room.has_state for room in rooms):
            self.failed_resumes = 0

    def stay_away(self, seconds):
        self.not_before = max(self.not_before, time.monotonic() + seconds)

    async def session(self):
        self.outgoing = asyncio.Queue()
        self.one_by_one = self.failed_resumes >= FAILED_RESUMES
        joins = [] if self.one_by_one else [room.join_fields() for room in self.rooms.values()]
        async with connect(self.options.url, subprotocols=["holdfast.rooms.v1.json"], proxy=None, max_size=1 << 20, open_timeout=10,
                           ping_interval=10, ping_timeout=10, close_timeout=1) as socket:
            hello = {"t": "hello", "v": [1], "device": self.store.device, "token": f"dev:{self.options.name}", "agent": "client.py"}
            await socket.send(json.dumps(hello | {"joins": joins}))
            self.is_resuming = True
            tasks = [asyncio.ensure_future(task) for task in (self.listen(socket), self.write(socket), self.tick())]
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def write(self, socket):
        while True:
            await socket.send(await self.outgoing.get())

    async def tick(self):
        while not self.is_over:
            await asyncio.sleep(0.1)
            now = time.monotonic()
            if self.settle_by and now > self.settle_by:
                for room in self.rooms.values():
                    room.settle(1, "uncertain")
            for room in self.rooms.values():
                room.tick(now)
            self.join_next()
            if self.has_renewed():
                return

    async def listen(self, socket):
        try:
            async for text in socket:
                frame = json.loads(text)
                if self.take(frame, text):
                    return
        except ConnectionClosed as error:
            self.closed(error.rcvd.code if error.rcvd else None)
            raise
        self.closed(socket.close_code)

    def closed(self, code):
        if code is not None and 4100 <= code < 4200:
            raise SystemExit(f"the hub refuses us: {code}")
        if code == 4000:  # another connection of this device, which must be our own, because no other process uses the store
            self.stay_away(2)

    def take(self, frame, text):
        """Handles one frame of the hub. Returns whether the connection must end."""
        kind, room, ends = frame["t"], self.rooms.get(frame.get("room")), False
        if kind == "error":
            ends = self.error(frame, room)
        elif kind == "welcome":
            self.offset, self.takes_publications = frame["now"] - int(time.time() * 1000), True
            LIMITS.update(frame["limits"])
            self.settle_by = time.monotonic() + SETTLING if self.barrier else None
            for each in self.rooms.values() if self.one_by_one else ():
                each.join_at = time.monotonic() + min(10 * each.suspicion, 60) if each.suspicion else None
        elif kind == "pong":
            self.offset = frame["now"] - int(time.time() * 1000)
        elif kind == "goaway":
            self.takes_publications = False
            self.stay_away(frame.get("after", 0) / 1000)
        elif room is None:
            pass  # a renewed token, or a frame of a later version
        elif kind in ("state", "msg", "page"):
            {"state": room.state, "msg": room.messages, "page": room.page}[kind](frame, entries_of(text))
        elif kind == "ack":
            room.acks(frame)
        elif kind == "hole":
            room.hole(frame["expected"])
        elif kind == "lag":
            room.join()
        elif kind == "members":
            room.present(frame)
        # After a renewal the rest of this connection belongs to the old device.
        return ends or self.is_over or self.has_renewed()

    def error(self, frame, room):
        """Returns whether the connection must end."""
        print(f"error: {frame}", file=sys.stderr, flush=True)
        retry, pause = frame["retry"], frame.get("after", 0) / 1000
        if retry == "reconnect":
            return True
        if room and "cseq" in frame:
            room.refused(frame)
        elif room and "ref" in frame:
            room.asked_history = False
        elif room and frame["code"] in (1001, 4002):
            pass  # an error of presence, typing or a signal, not of a join
        elif room and frame["code"] == 3001 and not room.join_sent:
            room.join()  # some or all rights are gone, which the answer shows
        elif room:
            room.join_sent = None
            if retry == "never" and frame["code"] == 4003:  # a limit is not permanent, because others leave
                pause = 10
            elif retry == "never":
                raise SystemExit(f"{room.name} is refused: {frame}")
            room.join_at = time.monotonic() + max(pause, 0.1)
        elif retry == "after" and not self.takes_publications:  # refused before the welcome, and the hub closes
            self.stay_away(pause)
        elif retry == "after":
            for each in self.rooms.values():
                each.hold = time.monotonic() + pause
        return False

    # A new device

    def renew(self):
        """The store or the log was rewound. First the client finds out what the hub has at each number: it sends a void with another name
        instead of each message, and the ack shows what is stored. Messages that the hub does not have and never will get new numbers."""
        if self.barrier:
            return
        self.barrier, self.settle_by = str(uuid.uuid4()), time.monotonic() + SETTLING
        for room in self.rooms.values():
            room.rewind(1)
            room.hold = 0
        for room in self.rooms.values():
            room.pump()

    def has_renewed(self):
        """Takes a new device when the outcome of every message is known. Returns whether it did."""
        if not self.barrier or any(room.unsettled() for room in self.rooms.values()):
            return False
        outboxes = {}
        for room in self.rooms.values():
            for message in [message for message in room.outbox.values() if room.fates[message.cseq] == "uncertain"]:
                room.fail(message, True)
            outboxes[room.name] = list(room.outbox.values())
            for number, message in enumerate(outboxes[room.name], 1):
                message.cseq = number
        self.store.renew(uuid.uuid4().hex, outboxes)
        for room in self.rooms.values():
            room.outbox = {message.cseq: message for message in outboxes[room.name]}
            room.next, room.fates = len(room.outbox) + 1, {}
        self.history.note("counted", text="device renewed", count=1)
        self.barrier, self.settle_by, self.takes_publications = None, None, False
        return True


class App:
    """Sends messages and follows the orders."""

    def __init__(self, client, pause):
        self.client, self.pause, self.number = client, pause / 1000, 0
        self.present = self.heads = None
        self.orders = set()

    async def obey(self):
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := (await reader.readline()).decode():
            word, *rest = line.split()
            self.orders.add(word)
            if word == "present":
                self.present = set(rest)
            elif word == "heads":
                self.heads = {room: int(seq) for room, seq in (pair.split("=") for pair in rest)}
        os._exit(3)  # the script is gone

    async def talk(self):
        rooms = list(self.client.rooms.values())
        while "drain" not in self.orders:
            self.number += 1
            self.speak(random.choice(rooms))
            await asyncio.sleep(self.pause * random.uniform(0, 2))
        await self.until(lambda: not any(room.outbox for room in rooms))
        print("drained", flush=True)
        await self.until(lambda: self.heads is not None and all(
            room.seq >= self.heads[room.name] and room.users() == self.present for room in rooms))
        print("complete", flush=True)
        await self.until(lambda: "finish" in self.orders)
        for room in rooms:
            entries = self.client.store.entries(room.name)
            self.client.history.note("store", room.name, epoch=room.epoch, seq=room.seq, items=told(entries))
            waiting = [message.id for message in room.outbox.values()]
            self.client.history.note("outbox", room.name, names=waiting)
        self.client.is_over = True

    def speak(self, room):
        text = f"{self.client.options.name} says {self.number} at {time.time()}"
        chance = random.random()
        if chance < 0.01:  # too long and not checked here: the hub refuses it permanently
            room.submit("chat.text", json.dumps({"text": "x" * (LIMITS["body"] + 1)}).encode(), False, checks=False)
        elif chance < 0.1:
            room.submit("blob", os.urandom(random.randrange(200)), True)
        else:  # JSON in an unusual form
            body = '{ "text" : "' + text + '", "n":[1.50e1, -0,\t1e+3], "s":"\\u00e9\\ud83d\\ude00é\\/" }'
            room.submit("chat.text", body.encode(), False)

    async def until(self, condition):
        while not condition():
            await asyncio.sleep(0.02)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    for option in ("name", "rooms", "store", "history"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--pause", type=float, default=20)
    # A test of seconds cannot wait for the page's 30 s.
    parser.add_argument("--longest", type=float, default=1, help="seconds between two connections, at the most; the page has 30")
    options = parser.parse_args()
    client = Client(options)
    app = App(client, options.pause)
    obeying = asyncio.ensure_future(app.obey())
    await asyncio.gather(client.run(), app.talk())
    obeying.cancel()


if __name__ == "__main__":
    asyncio.run(main())
