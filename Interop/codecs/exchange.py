"""Exchanges values with our peer: Python writes them, the peer reads and writes them again, and Python reads the result."""

import datetime
import json
import math
import subprocess
from collections.abc import Mapping

import cbor2
import msgpack

FORMATS = ("msgpack", "cbor", "json")


def written(form: str, value: object) -> bytes:
    if form == "msgpack":
        return msgpack.packb(value, datetime=True)
    if form == "cbor":
        return cbor2.dumps(value, datetime_as_timestamp=True)
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def read(form: str, data: bytes) -> object:
    if form == "msgpack":
        return msgpack.unpackb(data, timestamp=3, strict_map_key=False)
    if form == "cbor":
        return cbor2.loads(data)
    return json.loads(data)


def alike(one: object, other: object) -> bool:
    """Compares values. NaN equals NaN, and numbers of different kinds differ: true is not 1, and -0.0 is not 0.0."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and not hasattr(one, "_fields"):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, cbor2.CBORTag) and isinstance(other, cbor2.CBORTag):
        return one.tag == other.tag and alike(one.value, other.value)
    # cbor2 reads values within a tag as immutable.
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, datetime.datetime) and isinstance(other, datetime.datetime):
        # A date in CBOR is a double, which does not hold every microsecond.
        return abs(one - other) <= datetime.timedelta(microseconds=1)
    return type(one) is type(other) and one == other


class Peer:
    """Our peer, a program that answers each line with a line."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen([program, "codecs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def recoded(self, how: str, source: str, target: str, data: bytes) -> bytes:
        """Returns the value in another format. `how` is `value` or `struct`. Raises a ValueError with the peer's message on failure."""
        try:
            self.process.stdin.write(f"{how} {source} {target} {data.hex()}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().rstrip("\n")
        except OSError as error:
            raise ValueError(f"the peer is gone: {error}") from error
        word, _, rest = answer.partition(" ")
        if word != "ok":
            raise ValueError(rest or "the peer is gone")
        return bytes.fromhex(rest)


class Checks:
    """Counts the checks and prints a line for each."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.passed = self.failed = 0

    def tell(self, name: str, why: str | None) -> None:
        if why is None:
            self.passed += 1
            print(f"ok {name}", flush=True)
        else:
            self.failed += 1
            print(f"not ok {name}: {why}", flush=True)

    def same(self, name: str, values: list, formats: tuple = FORMATS, how: str = "value", expect=lambda value: value) -> None:
        """Every value returns unchanged, out of each format and into each."""
        for source in formats:
            for target in formats:
                self.tell(f"{name}: {source} to {target}", self.first_difference(values, source, target, how, expect))

    def first_difference(self, values: list, source: str, target: str, how: str, expect) -> str | None:
        for value in values:
            try:
                data = self.peer.recoded(how, source, target, written(source, value))
                back = read(target, data)
            except Exception as error:  # Any exception of a reader means that it did not understand us.
                return f"{short(value)}: {error}"
            if not alike(back, expect(value)):
                return f"{short(value)} came back as {short(back)}"
        return None

    def shortest(self, name: str, form: str, values: list) -> None:
        """Values written again have the bytes of the other side, which are the shortest."""
        for value in values:
            theirs = written(form, value)
            try:
                ours = self.peer.recoded("value", form, form, theirs)
            except ValueError as error:
                return self.tell(name, f"{short(value)}: {error}")
            if ours != theirs:
                return self.tell(name, f"{short(value)} is {ours[:40].hex()} and not {theirs[:40].hex()}")
        self.tell(name, None)

    def reads(self, name: str, form: str, cases: list) -> None:
        """Bytes that the other side never writes have these values."""
        for data, value in cases:
            try:
                back = read("cbor", self.peer.recoded("value", form, "cbor", bytes.fromhex(data)))
            except ValueError as error:
                return self.tell(name, f"{data}: {error}")
            if not alike(back, value):
                return self.tell(name, f"{data} is {short(back)} and not {short(value)}")
        self.tell(name, None)

    def refuses(self, name: str, form: str, cases: list) -> None:
        """Invalid bytes are refused, and the next ones are read."""
        for data in cases:
            try:
                self.peer.recoded("value", form, form, data)
            except ValueError:
                continue
            return self.tell(name, f"{data.hex()} was taken")
        self.tell(name, None)


def short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:80]}… ({len(text)} characters)"
