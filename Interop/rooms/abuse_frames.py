"""Valid frames of every type of a client, and mutations of them, in both encodings."""
import json
import secrets
import time
import uuid

from frames import fill, messages

ODD = [None, True, -1, 0, 1 << 53, 1 << 63, 1 << 64, -(1 << 63), 1.5, 1e308, "", "x" * 70000, "\0", "\u202e", "0" * 32, [], [[]] * 100, {},
       {"t": {}}, [1] * 1000]
ODD_NUMBERS = [-1, 0, 1, 1 << 53, (1 << 63) - 1, -(1 << 63)]
ODD_BYTES = [b"", b"\0", b"[" * 1000, b"{}{}", b"\xff\xfe", b"x" * 70000]


def samples(token):
    """One valid frame of each type."""
    room = {"room": "pit"}
    publication = {"t": "pub", **room, "cseq": 1, "id": str(uuid.uuid4()), "at": int(time.time() * 1000)}
    return [
        {"t": "hello", "v": [1], "device": secrets.token_hex(16), "token": token, "agent": "a", "joins": [{**room, "next": 1}]},
        {"t": "auth", "token": token},
        {"t": "join", **room, "epoch": "00000000000000aa", "seq": 3, "limit": 10, "presence": True, "next": 1},
        {"t": "leave", **room},
        {**publication, "type": "t", "about": {"kind": "edit", "seq": 1}, "body": {"a": [1]}},
        {**publication, "void": True},
        {"t": "read", **room, "seq": 1},
        {"t": "hist", "ref": 1, **room, "before": 10, "limit": 5},
        {"t": "pres", **room, "status": "away", "meta": {"a": 1}},
        {"t": "members", **room},
        {"t": "typ", **room, "on": True},
        {"t": "sig", **room, "type": "cursor", "body": {"x": 1}},
        {"t": "ping", "n": 1},
    ]


class JSON:
    """Frames as text."""
    protocol = "holdfast.rooms.v1.json"

    def encoded(self, frame):
        return json.dumps(frame)

    def decoded(self, data):
        return json.loads(data)

    def mutated(self, frame, chance):
        """The frame with a fault."""
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
            return flipped(text, chance)
        if way == 6:
            depth = chance.choice([10, 1000, 100_000])
            return text[:-1] + b',"y":' + b"[" * depth + b"]" * depth + b"}"
        return text


class Protobuf:
    """Frames as Protocol Buffers, with Python's own library and rooms.proto."""
    protocol = "holdfast.rooms.v1.protobuf"

    def __init__(self, descriptors):
        kinds = messages(descriptors)
        self.to_hub, self.to_client = kinds["client"], kinds["hub"]

    def message(self, frame):
        message = self.to_hub()
        body = getattr(message, frame["t"])
        body.SetInParent()
        fill(body, {key: value for key, value in frame.items() if key != "t"})
        return message, body

    def encoded(self, frame):
        return self.message(frame)[0].SerializeToString()

    def decoded(self, data):
        message = self.to_client.FromString(data)
        kind = message.WhichOneof("body")
        return {"t": kind, "code": getattr(getattr(message, kind), "code", 0)}

    def mutated(self, frame, chance):
        """The frame with a fault."""
        message, body = self.message(frame)
        fields = [field for field, _ in body.ListFields()]
        way = chance.randrange(10)
        if way == 0 and fields:
            body.ClearField(chance.choice(fields).name)
        elif way == 1:
            for field in fields:
                if not field.is_repeated and chance.random() < 0.5:
                    self.spoil(body, field, chance)
        data = message.SerializeToString()
        number = self.to_hub.DESCRIPTOR.fields_by_name[frame["t"]].number
        if way == 2:
            return data + chance.choice([
                record(1000, b"x" * 70000), b"\0\0", b"\x0b" * 100_000, b"\x0b\x0c" * 1000, b"\x0f", b"\xff" * 20, varint(7 << 3) + varint(1)])
        if way == 3:
            return data[: chance.randrange(len(data))]
        if way == 4:
            return flipped(data, chance)
        if way == 5:
            return varint(number << 3 | 2) + varint(chance.choice([1, 1 << 31, 1 << 40, (1 << 64) - 1])) + data
        if way == 6:
            # Another body follows. The last one counts.
            return data + record(chance.randrange(1, 20), data)
        if way == 7:
            return record(number, b"".join(record(field, chance.choice(ODD_BYTES)) for field in range(1, 10)))
        if way == 8:
            return record(number, b"".join(varint(field << 3) + varint(chance.choice(ODD_NUMBERS)) for field in range(1, 10)))
        if way == 9:
            # Two hundred thousand empty fields.
            return record(number, b"\x32\0" * 200_000)
        return data

    def spoil(self, body, field, chance):
        if field.cpp_type == field.CPPTYPE_INT64:
            setattr(body, field.name, chance.choice(ODD_NUMBERS))
        elif field.cpp_type == field.CPPTYPE_UINT64:
            setattr(body, field.name, chance.choice([0, 1, (1 << 64) - 1]))
        elif field.type == field.TYPE_BYTES:
            setattr(body, field.name, chance.choice(ODD_BYTES))
        elif field.type == field.TYPE_STRING:
            setattr(body, field.name, chance.choice(["", "\0", "x" * 70000, "\u202e"]))


def flipped(data, chance):
    place = chance.randrange(len(data))
    return data[:place] + bytes([chance.randrange(256)]) + data[place + 1:]


def varint(number):
    number &= (1 << 64) - 1
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes(data + bytes([number]))


def record(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data
