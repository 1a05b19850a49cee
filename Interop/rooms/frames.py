#!/usr/bin/env python3
"""The frames of rooms against Python's `json` and `protobuf`, in both directions.

    frames.py PEER DESCRIPTORS SEED

DESCRIPTORS is the output of protoc for rooms.proto. Every frame is random. It is written here as JSON and as Protocol Buffers, read
and written again by our peer in either encoding, and compared with the original.
"""
import base64
import json
import random
import subprocess
import sys
import uuid

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

ROUNDS = 40
RIGHTS = "rwpa"
RETRIES = ["never", "now", "after", "reconnect"]
HALVES = ("id", "device", "highId", "proof")
NUMBERS = [1, 2, 127, 128, 2**31, 2**32 + 1, 2**53 - 1]


class Frames:
    """Random frames, as JSON objects."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)

    def number(self) -> int:
        return self.source.choice(NUMBERS + [self.source.randint(1, 2**53 - 1)])

    def flag(self) -> bool:
        return self.source.random() < 0.5

    def text(self) -> str:
        return "n" + "".join(self.source.choice("ab \"\\/é漢😀{}[],:") for _ in range(self.source.randint(0, 12)))

    def digits(self, count: int) -> str:
        return self.source.randbytes(count // 2).hex()

    def uuid(self) -> str:
        return str(uuid.UUID(bytes=self.source.randbytes(16)))

    def json(self) -> object:
        return self.source.choice([None, True, 0, -1.5, "text 漢\n", [], {}, {"text": "hi", "list": [1, [None], {"a": "b"}]}])

    def payload(self) -> dict:
        if self.flag():
            return {"body": self.json()}
        return {"bin": base64.b64encode(self.source.randbytes(self.source.randint(0, 40))).decode()}

    def sometimes(self, fields: dict) -> dict:
        return {key: value for key, value in fields.items() if self.flag()}

    def several(self, make) -> list:
        return [make() for _ in range(self.source.randint(1, 3))]

    def join(self) -> dict:
        cursor = {"epoch": self.digits(16), "seq": self.number()} if self.flag() else {"seq": -self.number()}
        return {"room": self.text(), "next": self.number()} | cursor | self.sometimes(
            {"limit": self.number(), "presence": True, "proof": self.digits(32)})

    def about(self) -> dict:
        return self.sometimes({"about": {"kind": self.text(), "seq": self.number()}})

    def entry(self) -> dict:
        return (
            {"seq": self.number(), "id": self.uuid(), "device": self.digits(32), "cseq": self.number(), "user": self.text(), "type": self.text()}
            | self.payload() | self.about() | self.sometimes({"at": self.number(), "sent": self.number(), "admin": True})
        )  # fmt: skip

    def ack(self) -> dict:
        return {"cseq": self.number()} | self.sometimes({"seq": self.number(), "at": self.number(), "id": self.uuid(), "dup": True})

    def presence(self) -> dict:
        return {"status": self.text()} | self.sometimes({"meta": self.json()})

    def client(self) -> list[dict]:
        room = {"room": self.text()}
        content = {"type": self.text()} | self.payload() | self.about()
        return [
            {"t": "hello", "v": self.several(self.number), "device": self.digits(32)}
            | self.sometimes({"token": self.text(), "agent": self.text(), "joins": self.several(self.join)}),
            {"t": "auth", "token": self.text()}, {"t": "join"} | self.join(), {"t": "leave"} | room,
            {"t": "pub", "cseq": self.number(), "id": self.uuid()} | room | self.sometimes({"at": self.number()})
            | (content if self.flag() else {"void": True}),
            {"t": "read", "seq": self.number()} | room,
            {"t": "hist", "ref": self.number(), "before": self.number(), "limit": self.number()} | room,
            {"t": "pres"} | room | self.presence(), {"t": "members"} | room, {"t": "typ"} | room | self.sometimes({"on": True}),
            {"t": "sig", "type": self.text()} | room | self.payload(), {"t": "ping", "n": self.number()},
        ]  # fmt: skip

    def hub(self) -> list[dict]:
        room, log = {"room": self.text()}, {"room": self.text(), "epoch": self.digits(15 * 2)[:15] + "1"}
        limits = ["frame", "body", "roomWindow", "window", "rooms", "page", "members"]
        retry = self.source.choice(RETRIES)
        return [
            {"t": "welcome", "v": 1, "conn": self.text(), "user": self.text(), "limits": {name: self.number() for name in limits}}
            | self.sometimes({"now": self.number(), "expires": self.number(), "window": self.number()}),
            {"t": "renewed", "expires": self.number()},
            {"t": "state", "rights": "".join(right for right in RIGHTS if self.flag())} | log
            | self.sometimes({
                "from": self.number(), "to": self.number(), "head": self.number(), "base": self.number(), "items": self.several(self.entry),
                "snapshot": True, "more": True, "high": self.number(), "highId": self.uuid(),
                "proof": self.digits(32),
                "reads": self.several(lambda: {"user": self.text(), "seq": self.number()}),
            }),
            {"t": "msg", "items": self.several(self.entry)} | log | self.sometimes({"proof": self.digits(32)}), {"t": "ack", "acks": self.several(self.ack)} | log,
            {"t": "hole", "expected": self.number()} | room, {"t": "lag", "head": self.number()} | room,
            {"t": "page", "ref": self.number(), "items": self.several(self.entry), "base": self.number()} | log,
            {"t": "read", "user": self.text(), "seq": self.number()} | room,
            {"t": "members", "node": self.text(), "incarnation": self.digits(16), "members": self.several(
                lambda: {"conn": self.text(), "user": self.text()} | self.presence())} | room
            | self.sometimes({"version": self.number(), "full": True, "total": self.number(), "gone": self.several(self.text)}),
            {"t": "typ", "user": self.text()} | room | self.sometimes({"on": True}),
            {"t": "sig", "user": self.text(), "conn": self.text(), "type": self.text()} | room | self.payload(),
            {"t": "error", "code": self.number(), "retry": retry, "text": self.text()} | ({"after": self.number()} if retry == "after" else {})
            | self.sometimes({"cseq": self.number(), "ref": self.number(), "versions": self.several(self.number)} | room),
            {"t": "pong", "n": self.number(), "now": self.number()}, {"t": "goaway", "after": self.number(), "drain": self.number()},
        ]  # fmt: skip


def snake(key: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in key)


def fill(message, fields: dict) -> None:
    """Copies the fields of a JSON object into a message."""
    for key, value in fields.items():
        name = snake(key)
        if key in HALVES:
            bits = uuid.UUID(value).int
            setattr(message, f"{name}_high", bits >> 64)
            setattr(message, f"{name}_low", bits & (2**64 - 1))
        elif key in ("epoch", "incarnation"):
            setattr(message, name, int(value, 16))
        elif key in ("body", "meta") and message.DESCRIPTOR.fields_by_name[name].type == descriptor_pb2.FieldDescriptorProto.TYPE_BYTES:
            setattr(message, name, written(value))
        elif key == "bin":
            setattr(message, name, base64.b64decode(value))
        elif key == "rights":
            message.rights = sum(1 << RIGHTS.index(right) for right in value)
        elif key == "retry":
            message.retry = RETRIES.index(value)
        elif isinstance(value, dict):
            fill(getattr(message, name), value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    fill(getattr(message, name).add(), item)
                else:
                    getattr(message, name).append(item)
        else:
            setattr(message, name, value)


def written(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Peer:
    """Our peer, a program that answers each line with a line."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen([program, "room-frames"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def recoded(self, side: str, source: str, target: str, data: bytes) -> bytes:
        self.process.stdin.write(f"{side} {source} {target} {data.hex()}\n")
        self.process.stdin.flush()
        word, _, rest = self.process.stdout.readline().rstrip("\n").partition(" ")
        if word != "ok":
            raise ValueError(f"{word} {rest}")
        return bytes.fromhex(rest)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=60)


def messages(descriptors: str) -> dict:
    with open(descriptors, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    names = {"client": "ToHub", "hub": "ToClient"}
    return {side: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"holdfast.rooms.v1.{name}")) for side, name in names.items()}


def difference(peer: Peer, kinds: dict, side: str, frame: dict) -> str | None:
    """Returns the difference after a round trip through our peer, or None."""
    type_name = frame["t"]
    message = kinds[side]()
    getattr(message, type_name).SetInParent()
    fill(getattr(message, type_name), {key: value for key, value in frame.items() if key != "t"})
    # In another order than ours.
    text = written(dict(reversed(frame.items())))
    for source, data in (("json", text), ("protobuf", message.SerializeToString())):
        back = json.loads(peer.recoded(side, source, "json", data))
        if back != frame:
            return f"{source} to json: {back}"
        # Default numbers are present.
        if kinds[side].FromString(peer.recoded(side, source, "protobuf", data)) != message:
            return f"{source} to protobuf: another message"
    return None


def main() -> int:
    program, descriptors, seed = sys.argv[1:]
    kinds, frames, peer = messages(descriptors), Frames(int(seed)), Peer(program)
    failed: dict[str, str] = {}
    names: list[str] = []
    for _ in range(ROUNDS):
        for side, made in (("client", frames.client()), ("hub", frames.hub())):
            for frame in made:
                name = f"{side}: {frame['t']}"
                if name not in names:
                    names.append(name)
                if name in failed:
                    continue
                try:
                    why = difference(peer, kinds, side, frame)
                except (ValueError, KeyError) as error:
                    why = str(error)
                if why:
                    failed[name] = f"{why}\n    {written(frame).decode()}"
    peer.close()
    for name in names:
        print(f"not ok {name}: {failed[name]}" if name in failed else f"ok {name}")
    print(f"{len(names) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
