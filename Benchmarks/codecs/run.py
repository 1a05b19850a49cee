#!/usr/bin/env python3
"""Runs the programs alternately, round by round, and shows the medians. The JSON is `.build/bench/codecs.json`.

usage: run.py PROGRAM
"""

import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parent.parent / ".build" / "bench" / "codecs.json"
ROUNDS = int(os.environ.get("ROUNDS", "7"))
MILLISECONDS = os.environ.get("MILLISECONDS", "100")
SAMPLES = ("tick", "100-ticks", "order-book")
CODECS = {
    "ours-msgpack": "Holdfast MessagePack",
    "ours-cbor": "Holdfast CBOR",
    "foundation-json": "Foundation JSON",
    "python-msgpack": "Python msgpack (C)",
    "python-orjson": "Python orjson (Rust)",
}
# How many times faster than Foundation's JSON ours must be.
GOAL = 3.0


def measure(program: str) -> dict:
    """The figures of all rounds: (codec, sample, direction) → nanoseconds, and (codec, sample) → bytes."""
    times: dict[tuple, list[int]] = {}
    sizes: dict[tuple, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "samples", folder], check=True)
        for _ in range(ROUNDS):
            for command in ([program, "measure", MILLISECONDS], [sys.executable, str(HERE / "peer.py"), folder, MILLISECONDS]):
                output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                for line in output.splitlines():
                    codec, sample, direction, nanoseconds, size = line.split()
                    times.setdefault((codec, sample, direction), []).append(int(nanoseconds))
                    sizes[codec, sample] = int(size)
    return {"times": times, "sizes": sizes}


def rows(figures: dict) -> list[dict]:
    """Medians, and the median of the rounds' ratios to Foundation's JSON: above 1, the codec is faster."""
    found = []
    for sample in SAMPLES:
        for codec in CODECS:
            row = {"sample": sample, "codec": codec, "bytes": figures["sizes"][codec, sample]}
            for direction in ("encode", "decode"):
                own, reference = figures["times"][codec, sample, direction], figures["times"]["foundation-json", sample, direction]
                row[direction] = statistics.median(own)
                row[f"{direction}_ratio"] = round(statistics.median(b / a for a, b in zip(own, reference)), 2)
            found.append(row)
    return found


def main() -> int:
    found = rows(measure(sys.argv[1]))
    print(f"CPU time in ns, medians of {ROUNDS} rounds; in brackets how many times less than Foundation's JSON takes\n")
    print(f"{'':12}{'':22}{'bytes':>7}{'encode':>12}{'':9}{'decode':>12}")
    missed = []
    for row in found:
        name = row["sample"].replace("-", " ") if row["codec"] == next(iter(CODECS)) else ""
        cells = "".join(f"{row[d]:>12,.0f} {'(' + format(row[d + '_ratio'], '.1f') + ')':>8}" for d in ("encode", "decode"))
        print(f"{name:12}{CODECS[row['codec']]:22}{row['bytes']:>7,}{cells}")
        if row["codec"].startswith("ours"):
            missed += [f"{row['codec']}, {row['sample']}, {d}" for d in ("encode", "decode") if row[f"{d}_ratio"] < GOAL]
    print(f"\ngoal: ours {GOAL:.0f} times faster than Foundation's JSON; " + ("missed by " + "; ".join(missed) if missed else "met"))
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": platform.platform(), "rounds": ROUNDS, "rows": found}, indent=1) + "\n")
    print(f"figures: {RESULTS.relative_to(HERE.parent.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
