#!/usr/bin/env python3
"""Measures Holdfast beside other WebSocket software and prints the ratios; called by run.sh, which sets the environment.

Rounds are interleaved: each workload is given to one subject after the other, then again. So a machine that gets slower
for a while slows all of them, and a ratio of two neighbours still holds. What is shown is the median of the rounds.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(os.environ["ROOT"])
HOLDFAST, NODE, PYTHON, NIO = "Holdfast", "Node ws", "Python websockets", "bare SwiftNIO"
SUBJECTS = [HOLDFAST, NODE, PYTHON, NIO]
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SECONDS = float(os.environ.get("SECONDS_EACH", "0.5"))
SIZES = [(32, "32 B"), (1024, "1 KiB"), (65_536, "64 KiB")]
DEPTH = 16

INTEROP, CLIENTS = ROOT / "Interop" / "peers", ROOT / "Benchmarks" / "clients"
SERVERS = {
    HOLDFAST: [os.environ["HOLDFAST_BIN"], "echo-server"],
    NODE: ["node", INTEROP / "node.js", "echo-server"],
    PYTHON: [os.environ["PYTHON"], INTEROP / "python.py", "echo-server"],
    NIO: [os.environ["NIOECHO_BIN"], "echo"],
}


def client_command(subject, mode, port, size):
    url = f"ws://127.0.0.1:{port}"
    return {
        HOLDFAST: [os.environ["HOLDFAST_BIN"], "bench-client", mode, url, size, SECONDS],
        NODE: ["node", CLIENTS / "node.js", mode, url, size, SECONDS],
        PYTHON: [os.environ["PYTHON"], CLIENTS / "python.py", mode, url, size, SECONDS],
        NIO: [os.environ["NIOECHO_BIN"], mode, port, size, SECONDS],
    }[subject]


def pinned(core, command):
    """The command bound to one core, where there are two: what is measured on core 0, what measures on core 1."""
    words = [str(word) for word in command]
    return ["taskset", "-c", str(core), *words] if len(os.sched_getaffinity(0)) > 1 else words


@contextlib.contextmanager
def listening(core, command):
    """A server that has printed `listening PORT`: its process and the port."""
    process = subprocess.Popen(pinned(core, command), stdout=subprocess.PIPE, text=True)
    try:
        said = process.stdout.readline()
        match = re.match(r"listening (\d+)", said)
        if not match:
            sys.exit(f"{command[0]} said {said!r}, not its port")
        yield process, int(match[1])
    finally:
        process.terminate()
        process.wait()


def result_of(core, command):
    """Runs a measuring program and reads its line of JSON."""
    done = subprocess.run(pinned(core, command), stdout=subprocess.PIPE, text=True, timeout=60 + SECONDS * 10)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(str(word) for word in command)}")
    return json.loads(done.stdout)


def measure_servers():
    """Echo workloads: {workload: {subject: [(rate, CPU nanoseconds per message)]}}."""
    workloads = [(connections, size, name) for connections in (1, 64) for size, name in SIZES]
    results = {}
    with contextlib.ExitStack() as stack:
        servers = {subject: stack.enter_context(listening(0, command)) for subject, command in SERVERS.items()}
        for _ in range(ROUNDS):
            for connections, size, name in workloads:
                plural = "connection" if connections == 1 else "connections"
                row = results.setdefault(f"{connections} {plural}, {DEPTH} in flight, {name}", {})
                for subject, (process, port) in servers.items():
                    kind = "raw" if subject == NIO else "ws"
                    command = [ROOT / ".cache/bench/load", port, process.pid, connections, DEPTH, size, SECONDS, kind]
                    measured = result_of(1, command)
                    row.setdefault(subject, []).append((measured["rate"], measured["cpu"]))
    return results


def measure_clients():
    """One-way workloads, in the same form."""
    results = {}
    with listening(1, [ROOT / ".cache/bench/sink"]) as (_, port):
        for _ in range(ROUNDS):
            for mode in ("receive", "send"):
                for size, name in SIZES:
                    row = results.setdefault(f"{mode}, {name}", {})
                    for subject in SUBJECTS:
                        measured = result_of(0, client_command(subject, mode, port, size))
                        rate = measured["messages"] / measured["seconds"]
                        row.setdefault(subject, []).append((rate, measured["cpu"] * 1e9 / measured["messages"]))
    return results


def median(rounds, index):
    return statistics.median(values[index] for values in rounds)


def ratio(ours, theirs, index):
    return statistics.median(mine[index] / other[index] for mine, other in zip(ours, theirs))


def table(title, results):
    peers = SUBJECTS[1:]
    lines = [f"### {title}", "", "| Workload | Holdfast: messages/s | CPU/message | " + " | ".join(f"÷ {peer}" for peer in peers) + " |"]
    lines.append("|---|---:|---:|" + "---:|" * len(peers))
    for workload, row in results.items():
        ours = row[HOLDFAST]
        cells = [workload, f"{median(ours, 0):,.0f}", f"{median(ours, 1) / 1000:.2f} µs"]
        for peer in peers:
            cells.append(f"{ratio(ours, row[peer], 0):.2f}× rate, {ratio(ours, row[peer], 1):.2f}× CPU")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Measure Holdfast beside its peers.")
    parser.add_argument("part", nargs="?", choices=["servers", "clients"], help="only this part")
    part = parser.parse_args().part
    started = time.monotonic()
    tables = []
    if part != "clients":
        tables.append(table("Server: echo", measure_servers()))
    if part != "servers":
        tables.append(table("Client: one way", measure_clients()))
    report = "## Benchmark\n\n" + "\n".join(tables)
    report += f"\nMedians of {ROUNDS} interleaved rounds of {SECONDS:g} s. "
    report += "÷ peer: our value by the peer's, so a rate above 1 and CPU below 1 are better.\n"
    reports = ROOT / "reports"
    reports.mkdir(exist_ok=True)
    (reports / "benchmark.md").write_text(report)
    print(report)
    print(f"{time.monotonic() - started:.0f} s; written to reports/benchmark.md")


if __name__ == "__main__":
    main()
