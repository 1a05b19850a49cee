#!/usr/bin/env python3
"""Measures Python's msgpack and orjson with the same samples. Prints `CODEC SAMPLE DIRECTION NANOSECONDS BYTES` per figure.

usage: peer.py FOLDER MILLISECONDS
"""

import datetime
import json
import pathlib
import sys
import time

import msgpack
import orjson

SAMPLES = ("tick", "100-ticks", "order-book")


def with_dates(value: dict) -> dict:
    """Converts the time of a tick to a date, which both codecs write as a date."""
    if isinstance(value.get("time"), str):
        value["time"] = datetime.datetime.fromisoformat(value["time"].replace("Z", "+00:00"))
    return value


def nanoseconds(work, seconds: float) -> int:
    """The processor time of one call, averaged over the given time."""
    count, batch, spent = 0, 1, 0
    start = time.thread_time_ns()
    while spent < seconds * 1e9:
        for _ in range(batch):
            work()
        count += batch
        batch = min(batch * 2, 1024)
        spent = time.thread_time_ns() - start
    return round(spent / count)


def main() -> None:
    folder, seconds = pathlib.Path(sys.argv[1]), int(sys.argv[2]) / 1000
    pack, unpack = msgpack.Packer(datetime=True).pack, lambda data: msgpack.unpackb(data, timestamp=3)
    for name in SAMPLES:
        value = json.loads((folder / f"{name}.json").read_text(), object_hook=with_dates)
        # orjson returns dates as text.
        for codec, encode, decode in (("python-msgpack", pack, unpack), ("python-orjson", orjson.dumps, orjson.loads)):
            data = encode(value)
            print(codec, name, "encode", nanoseconds(lambda: encode(value), seconds), len(data))
            print(codec, name, "decode", nanoseconds(lambda: decode(data), seconds), len(data))


if __name__ == "__main__":
    main()
