#!/usr/bin/env python3
"""Our MessagePack, CBOR and JSON against Python's msgpack, cbor2 and json.

usage: codecs.py PEER SEED

A value goes from each of their formats into ours, and from each of ours into theirs. An error that a reader and a writer of one format
share is found by the other two formats.
"""

import datetime
import random
import sys

import cbor2
import msgpack

from exchange import Checks, Peer, written

BINARY = ("msgpack", "cbor")
UTC = datetime.timezone.utc


def boundaries() -> list:
    edges = {0, 1, -1}
    for bits in (4, 5, 6, 7, 8, 15, 16, 31, 32, 53, 63, 64):
        for near in (-1, 0, 1):
            edges |= {2**bits + near, -(2**bits) + near}
    edges |= {23, 24, 25, -24, -25, -26}
    return sorted(edge for edge in edges if -(2**63) <= edge < 2**64)


FLOATS = [0.0, -0.0, 0.5, 1.5, -2.25, 0.1, 1 / 3, 65504.0, 65505.0, 2.0**-24, 2.0**-25, 3.4028234663852886e38, 1e39, 1e300, 5e-324, 2.0**53]
STRANGE = [float("inf"), float("-inf"), float("nan")]
LENGTHS = [0, 1, 15, 16, 23, 24, 31, 32, 255, 256, 65_535, 65_536]
STRINGS = ["", "a", "\0", '"\\/\b\f\n\r\t', "\u007f\u0080", "é€", "\ud7ff\ue000\uffff", "😀👩‍👩‍👧", "\u2028"] + ["x" * n for n in LENGTHS]
BYTES = [bytes(n % 256 for n in range(length)) for length in LENGTHS]
TEXT_MAPS = [{str(n): n for n in range(length)} for length in LENGTHS]
# Python has microseconds. The first three dates have the three lengths of MessagePack.
DATES = [
    datetime.datetime(2026, 11, 21, tzinfo=UTC), datetime.datetime(2026, 11, 21, 1, 2, 3, 456789, UTC),
    datetime.datetime(2600, 1, 1, 0, 0, 0, 500000, UTC), datetime.datetime(1970, 1, 1, tzinfo=UTC),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 500000, UTC), datetime.datetime(1900, 1, 1, tzinfo=UTC),
]  # fmt: skip


def anything(source: random.Random, depth: int, text_only: bool) -> object:
    """A random value. With `text_only` JSON can express it."""
    kinds = ["null", "bool", "integer", "float", "text"] + ([] if text_only else ["bytes"])
    kinds += ["array", "map", "array", "map"] if depth > 0 else []
    kind = source.choice(kinds)
    if kind == "bool":
        return source.random() < 0.5
    if kind == "integer":
        return source.choice([source.randint(-128, 255), source.randint(-(2**63), 2**64 - 1), source.choice(boundaries())])
    if kind == "float":
        return source.choice([source.uniform(-1000, 1000), source.choice(FLOATS), float(source.randint(-10, 10)) / 4])
    if kind == "text":
        return "".join(source.choice("abc xyzäöü€漢字😀\n\"\\") for _ in range(source.randint(0, 40)))
    if kind == "bytes":
        return source.randbytes(source.randint(0, 40))
    if kind == "array":
        return [anything(source, depth - 1, text_only) for _ in range(source.randint(0, 8))]
    if kind == "map":
        def key() -> object:
            return source.choice(["a", "b", "symbol", "漢", str(source.random())]) if text_only or source.random() < 0.7 else source.randint(-300, 300)
        return {key(): anything(source, depth - 1, text_only) for _ in range(source.randint(0, 8))}
    return None


def nested(depth: int) -> object:
    value: object = "inside"
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


def specimen(source: random.Random) -> dict:
    """The content of `Specimen` in our peer."""
    return {
        "flag": source.random() < 0.5, "small": source.randint(-128, 127), "large": source.randint(0, 2**64 - 1),
        "price": source.uniform(-1e6, 1e6), "ratio": source.randint(-1000, 1000) / 8, "name": source.choice(STRINGS[:9]),
        "blob": source.randbytes(source.randint(0, 300)), "when": source.choice(DATES[:4]),
        "levels": [{"price": source.uniform(1, 2), "size": source.randint(0, 10**6)} for _ in range(source.randint(0, 40))],
        "tags": {f"tag{n}": source.randint(-5, 5) for n in range(source.randint(0, 20))},
        "note": source.choice([None, "a note"]), "side": source.choice(["buy", "sell"]),
        "shape": source.choice([{"circle": {"radius": 1.5}}, {"point": {}}, {"rectangle": {"_0": 3, "_1": 4}}]),
    }  # fmt: skip


def without_nil(value: dict) -> dict:
    """Codable omits nil values."""
    return {key: item for key, item in value.items() if item is not None}


def main() -> int:
    source = random.Random(int(sys.argv[2]))
    with Peer(sys.argv[1]) as peer:
        checks = Checks(peer)
        checks.same("nothing, true and false", [None, True, False])
        checks.same("integers at every boundary", boundaries())
        checks.same("numbers with a fraction", FLOATS)
        checks.same("infinities and not a number", STRANGE, BINARY)
        checks.same("texts", STRINGS)
        checks.same("bytes", BYTES, BINARY)
        checks.same("arrays of all lengths", [[1] * length for length in LENGTHS])
        checks.same("maps of all lengths", TEXT_MAPS)
        checks.same("maps with other keys than text", [{1: "a", -1: "b", False: "c", 2.5: "d", b"k": "e"}, {n: n for n in range(300)}], BINARY)
        checks.same("values in one another", [nested(depth) for depth in (1, 10, 30, 50)])
        checks.same("dates", DATES, BINARY)
        checks.same("random values", [anything(source, 4, text_only=True) for _ in range(300)])
        checks.same("random values that JSON does not have", [anything(source, 4, text_only=False) for _ in range(300)], BINARY)
        checks.same("an extension of MessagePack", [msgpack.ExtType(code, b"x" * n) for code in (0, 5, 127) for n in LENGTHS], ("msgpack",))
        checks.same("a tag of CBOR", [cbor2.CBORTag(tag, value) for tag in (6, 1000, 2**40) for value in (1, "x", [1, {"a": 2}])], ("cbor",))
        checks.same("Codable structs", [specimen(source) for _ in range(100)], BINARY, how="struct", expect=without_nil)

        whole = boundaries() + STRINGS + BYTES + [[1] * length for length in LENGTHS] + TEXT_MAPS + [None, True, False]
        checks.shortest("the shortest forms: msgpack", "msgpack", whole + [source.uniform(-9, 9) for _ in range(50)])
        checks.shortest("the shortest forms: cbor", "cbor", whole + [0.1, 1 / 3, 1e300])
        checks.reads(
            "what cbor2 does not write",
            "cbor",
            [
                ("9f0102ff", [1, 2]), ("bf616101ff", {"a": 1}), ("7f6261626163ff", "abc"), ("5f42010243030405ff", bytes([1, 2, 3, 4, 5])),
                ("f93c00", 1.0), ("fa47c35000", 100000.0), ("1800", 0), ("1b0000000000000001", 1),
            ],
        )  # fmt: skip
        checks.reads(
            "what msgpack does not write",
            "msgpack",
            [("cd0001", 1), ("d3ffffffffffffffff", -1), ("ca3fc00000", 1.5), ("d90161", "a"), ("dc000101", [1]), ("df00000001a16101", {"a": 1})],
        )
        for form, broken in (("msgpack", [b"\xc1"]), ("cbor", [b"\x1c", b"\xff"]), ("json", [b"nul", b"01", b'"\n"', b"[1,]", b"NaN"])):
            cut = [written(form, {"a": [1, "text", 1.5], "b": {"c": None}})[:length] for length in range(5)]
            checks.refuses(f"what is broken or cut short: {form}", form, broken + cut + [written(form, 1) + b" 1"])
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 0 if checks.failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
