#!/usr/bin/env python3
"""Counts the instructions and allocations per message, and compares them with thresholds.json.

    quick.py PROBE [--update]

The probe does every piece of work twice under callgrind, with N messages and with 2N. The difference divided by N is the cost of
a message, without the cost of start and end.
"""
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

THRESHOLDS = pathlib.Path(__file__).with_name("thresholds.json")
TOLERANCE = 0.05
# Row: the probe's work, the number of messages, and the work that is subtracted.
ROWS = {
    "parse 32 B, binary, in place": ("parse-binary-32", 16384, None),
    "parse 32 B, text, in place": ("parse-text-32", 16384, None),
    "parse 1 KiB, binary, in place": ("parse-binary-1024", 16384, None),
    "parse 32 B, binary, into a message": ("parse-message-32", 16384, None),
    "send 32 B, server": ("send-server-32", 16384, None),
    "send 32 B, client, masked": ("send-client-32", 16384, None),
    "bytes in and out, 32 B, without WebSocket": ("echo-bytes-32", 16384, None),
    "in and out 32 B, server, inline": ("echo-inline-32", 16384, None),
    "in and out 32 B, server, task on the event loop": ("echo-task-32", 16384, None),
    "receive 32 B, client, inline": ("receive-inline-32", 16384, None),
    "encode a tick, MessagePack": ("encode-msgpack", 1024, None),
    "decode a tick, MessagePack": ("decode-msgpack", 1024, None),
    "encode a tick, CBOR": ("encode-cbor", 1024, None),
    "decode a tick, CBOR": ("decode-cbor", 1024, None),
    "encode a room's message, JSON": ("encode-msg-json", 1024, None),
    "decode a publication, JSON": ("decode-pub-json", 1024, None),
    "encode a room's message, Protobuf": ("encode-msg-protobuf", 1024, None),
    "decode a publication, Protobuf": ("decode-pub-protobuf", 1024, None),
    "deflate and inflate 1 KiB of JSON, beyond zlib": ("compress-json-1024", 1024, "compress-json-1024-zlib"),
}
FIGURES = {"instructions": 1, "allocations": 3}  # and the number of significant decimals
ALLOCATORS = {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign"}


def parse(profile: Iterable[str]) -> tuple[int, int]:
    """The instructions and the allocator calls from outside the C library, in callgrind's output."""
    names: dict[str, str] = {}
    instructions = allocations = 0
    caller = called = ""
    for line in profile:
        key, equals, value = line.rstrip("\n").partition("=")
        if key in ("ob", "cob", "fn", "cfn") and equals:
            # A name follows its number only the first time. Objects and functions have separate numbers.
            number, _, name = value.partition(" ")
            number = key[-2:] + number
            name = names.setdefault(number, name)
            if key == "ob":
                caller = name
            elif key == "cfn":
                called = name.split("'")[0].removeprefix("__libc_")
        elif key == "calls" and called in ALLOCATORS and "/libc." not in caller:
            allocations += int(value.split()[0])
        elif line.startswith("totals:"):
            instructions = int(line.split()[1])
    if not instructions or not allocations:
        raise SystemExit("error: callgrind's output has no total, or no allocation in it")
    return instructions, allocations


def count(probe: str, work: str, messages: int) -> tuple[int, int]:
    with tempfile.NamedTemporaryFile("r") as output:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output.name}", probe, work, str(messages)]
        # Otherwise hashes differ between runs.
        environment = os.environ | {"SWIFT_DETERMINISTIC_HASHING": "1"}
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
        if run.returncode != 0:
            raise SystemExit(f"error: {work} failed under valgrind ({run.returncode}):\n{run.stderr[-2000:]}")
        return parse(output)


def measure(probe: str) -> dict[str, dict[str, float]]:
    """The cost of each row per message."""
    works = {name: messages for work, messages, reference in ROWS.values() for name in (work, reference) if name}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        runs = {work: [pool.submit(count, probe, work, n) for n in (messages, 2 * messages)] for work, messages in works.items()}
    cost = {}
    for work, (once, twice) in runs.items():
        cost[work] = [(after - before) / works[work] for before, after in zip(once.result(), twice.result())]
    figures = {}
    for row, (work, _, reference) in ROWS.items():
        subtracted = cost[reference] if reference else [0, 0]
        figures[row] = {
            # `+ 0` turns -0 into 0.
            figure: round(cost[work][i] - subtracted[i], decimals) + 0
            for i, (figure, decimals) in enumerate(FIGURES.items())
        }
        if reference:
            share = 100 * figures[row]["instructions"] / cost[reference][0]
            print(f"zlib itself: {cost[reference][0]:,.0f} instructions for deflate and inflate; ours come to {share:.1f} % of that")
    return figures


def machine() -> dict[str, str]:
    """What the figures depend on besides our own code."""
    swift = re.search(r"Swift version (\S+)", subprocess.run(["swift", "--version"], capture_output=True, text=True).stdout)
    # valgrind offers a program no more than this, on any processor.
    vectors = ["avx2"] if re.search(r"^flags.*\bavx2\b", read("/proc/cpuinfo"), re.M) else []
    valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True).stdout.strip()
    return {
        "processor": " ".join([platform.machine(), *vectors]),
        "swift": swift[1] if swift else "unknown",
        "libc": "-".join(platform.libc_ver()),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
        "valgrind": valgrind.removeprefix("valgrind-"),
    }


def read(path: str) -> str:
    return pathlib.Path(path).read_text() if os.path.exists(path) else ""


def judge(counted: float, threshold: float | None) -> str:
    if threshold is None:
        return "FAILED: no threshold, --update makes one"
    if counted > threshold * (1 + TOLERANCE):
        return f"FAILED: {counted:,g}, more than {TOLERANCE:.0%} above {threshold:,g}"
    if counted < threshold * (1 - TOLERANCE):
        return f"{counted:,g}, more than {TOLERANCE:.0%} below {threshold:,g}: --update lowers the threshold"
    return ""


def compare(figures: dict, thresholds: dict) -> tuple[int, int]:
    """Prints a table. Returns the numbers of figures within and above their thresholds."""
    passed = failed = 0
    print(f"{'per message':48}", *(f"{figure:>13}" for figure in FIGURES))
    for row, costs in figures.items():
        print(f"{row:48}", *(f"{costs[figure]:13,g}" for figure in FIGURES))
        for figure, counted in costs.items():
            verdict = judge(counted, thresholds.get(row, {}).get(figure))
            if verdict:
                print(f"    {figure}: {verdict}")
            if verdict.startswith("FAILED"):
                failed += 1
            else:
                passed += 1
    for row in thresholds.keys() - figures.keys():
        print(f"{row}: FAILED: a threshold without a row; --update removes it")
        failed += 1
    return passed, failed


def main() -> int:
    probe, *options = sys.argv[1:]
    if options not in ([], ["--update"]):
        raise SystemExit(__doc__)
    figures, here = measure(probe), machine()
    if options:
        THRESHOLDS.write_text(json.dumps({"measured on": here, "per message": figures}, indent=4) + "\n")
    kept = json.loads(THRESHOLDS.read_text())
    passed, failed = compare(figures, kept["per message"])
    there = kept["measured on"]
    for part in there.keys() | here.keys():
        if there.get(part) != here.get(part):
            print(f"note: the thresholds were measured with {part} {there.get(part)}, this is {here.get(part)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
