#!/usr/bin/env python3
"""One feed of quotes, read by our client, Node `ws` and Python `websockets` alternately; see ../README.md.

bench.py HOLDFAST HOLDFAST-PEER

HOLDFAST is our tool, which serves the feed, and HOLDFAST-PEER the program with our client.
RATE: ticks per second (20000). ROUNDS (3), SECONDS_EACH (3), SLOW_SECONDS (10): how often and how long each program reads.
"""
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from harness.processes import free_port, pinned, reason  # noqa: E402
from harness.report import columns, machine, number  # noqa: E402
from harness.settings import CORES, RESULTS  # noqa: E402

HOLDFAST, PEER = sys.argv[1:]
RATE = int(os.environ.get("RATE") or 20_000)
ROUNDS = int(os.environ.get("ROUNDS") or 3)
SECONDS = float(os.environ.get("SECONDS_EACH") or 3)
SLOW_SECONDS = float(os.environ.get("SLOW_SECONDS") or 10)
SYMBOLS = 500
# The server sends every 10 ms. A consumer with 5 ms per update keeps up, one with 25 ms does not.
BUSY = (5, 25)
CLIENTS = {
    "Holdfast": [PEER, "quotes"],
    "Node ws": ["node", str(HERE / "client.mjs")],
    "Python websockets": [sys.executable, str(HERE / "client.py")],
}
ENCODINGS = {"Holdfast": ("json", "msgpack", "protobuf"), "Node ws": ("json", "msgpack"), "Python websockets": ("json", "msgpack")}


@dataclasses.dataclass
class Reading:
    """The results of one program in all rounds: `figures` as the program printed them."""

    client: str
    encoding: str
    busy: int
    figures: list[dict]
    failure: str | None = None

    def median(self, measure):
        return statistics.median(measure(figures) for figures in self.figures)

    @property
    def cost(self):
        """Milliseconds of processor time for 10,000 ticks."""
        return self.median(lambda figures: figures["cpu"] * 1000 / max(1, figures["ticks"]) * 10_000)


def read(reading, url, seconds):
    words = [*CLIENTS[reading.client], url, reading.encoding, str(seconds), str(reading.busy)]
    try:
        run = subprocess.run(pinned(CORES[-1], words), capture_output=True, text=True, timeout=seconds * 5 + 60)
        if run.returncode == 0:
            reading.figures.append(json.loads(run.stdout))
            return
        reading.failure = f"status {run.returncode}: {reason(run.stderr or run.stdout)}"
    except subprocess.TimeoutExpired:
        reading.failure = "did not end in time"


def serve():
    port = free_port()
    words = [HOLDFAST, "serve", "quotes", "--quiet", "--port", str(port), "--symbols", str(SYMBOLS), "--rate", str(RATE), "--seed", "7"]
    words.append("--no-bursts")
    server = subprocess.Popen(
        pinned(CORES[0], words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if not server.stdout.readline():
        sys.exit("error: `holdfast serve quotes` does not start")
    time.sleep(0.5)
    return server, f"ws://127.0.0.1:{port}/feed"


def rounds(readings, url, count, seconds):
    for turn in range(count):
        for reading in readings:
            if reading.failure is None:
                print(f"bench: round {turn + 1} of {count}: {reading.client}, {reading.encoding}", file=sys.stderr)
                read(reading, url, seconds)
    return readings


def cost_table(readings):
    ours = {reading.encoding: reading for reading in readings if reading.client == "Holdfast"}
    lines = [["client", "encoding", "ticks/s", "CPU per 10,000 ticks", "of ours", "one core could take", "age p50", "age p99"]]
    for reading in readings:
        if reading.failure:
            lines.append([reading.client, reading.encoding, "FAILED", "", "", "", "", ""])
            continue
        own = ours[reading.encoding]
        lines.append([
            reading.client, reading.encoding, number(reading.median(lambda figures: figures["ticks"] / figures["seconds"])),
            f"{reading.cost:.2f} ms", "–" if own.failure else f"{reading.cost / own.cost:.2f}",
            f"{number(10_000 / reading.cost * 1000)}/s",
            *(f"{number(reading.median(lambda figures: figures[share]))} ms" for share in ("p50", "p99")),
        ])
    return columns(lines, right={2, 3, 4, 5, 6, 7})


def slow_table(readings):
    lines = [["client", "per update", "quotes shown/s", "age p50", "age p99", "oldest", "memory, start", "memory, end"]]
    for reading in readings:
        if reading.failure:
            lines.append([reading.client, f"{reading.busy} ms", "FAILED", "", "", "", "", ""])
            continue
        lines.append([
            reading.client, f"{reading.busy} ms", number(reading.median(lambda figures: figures["shown"] / figures["seconds"])),
            *(f"{number(reading.median(lambda figures: figures[share]))} ms" for share in ("p50", "p99", "most")),
            *(f"{reading.median(lambda figures: figures['memory'][at]) / 1024:.1f} MB" for at in (0, -1)),
        ])
    return columns(lines, right={1, 2, 3, 4, 5, 6, 7})


def main():
    server, url = serve()
    try:
        readings = [Reading(client, encoding, 0, []) for client in CLIENTS for encoding in ENCODINGS[client]]
        slow = [Reading(client, "msgpack", busy, []) for busy in BUSY for client in CLIENTS]
        rounds(readings, url, ROUNDS, SECONDS)
        rounds(slow, url, 1, SLOW_SECONDS)
    finally:
        server.terminate()
        server.wait()
    print(machine())
    print(f"{SYMBOLS} symbols, {RATE:,} ticks per second, medians of {ROUNDS} rounds of {SECONDS:g} s. Age: now less the tick's time.\n")
    print(cost_table(readings))
    print(f"\nA consumer that is busy for a while with each update, {SLOW_SECONDS:g} s, MessagePack.\n")
    print(slow_table(slow))
    outdated = sum(figures.get("outdated", 0) for reading in slow for figures in reading.figures)
    print(f"\nHoldfast: values that stood there after a refresh although a newer one had been known before it: {outdated}.")
    for reading in readings + slow:
        if reading.failure:
            print(f"FAILED: {reading.client}, {reading.encoding}: {reading.failure}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    content = {
        "machine": machine(), "rate": RATE, "symbols": SYMBOLS, "rounds": ROUNDS, "seconds": SECONDS,
        "readings": [dataclasses.asdict(reading) for reading in readings + slow],
    }
    path = RESULTS / "quotes.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"\nAll figures: {path.relative_to(HERE.parents[1])}")
    sys.exit(outdated > 0 or any(reading.failure for reading in readings + slow))


main()
