#!/usr/bin/env python3
"""Our GraphQL client and gql read the same events from Strawberry, in turns. Prints a table; all figures go to reports/bench-graphql.json.

    bench.py HOLDFAST REPORTS      called by run.sh

A figure is the client's processor time per event. Ends with 1 if the goal is missed, or a run failed.
"""
import contextlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = int(os.environ.get("ROUNDS", "5"))
EVENTS = int(os.environ.get("EVENTS", "20000"))
HERE = pathlib.Path(__file__).parent
GOAL = 10


@contextlib.contextmanager
def server():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.NamedTemporaryFile() as file:
        script = HERE.parents[1] / "Interop/graphql/strawberry_server.py"
        process = subprocess.Popen([sys.executable, script, str(port), file.name])
        try:
            for _ in range(600):
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                time.sleep(0.05)
            yield f"ws://127.0.0.1:{port}/graphql"
        finally:
            process.terminate()
            process.wait(timeout=20)


def read(command):
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    return float(output.split()[1])


def main(holdfast, reports):
    figures = {}
    with server() as url:
        for count in (1, 100):
            each = EVENTS // count
            clients = {
                "holdfast": [holdfast, "graphql-read", url, "--subscriptions", str(count), "--events", str(each)],
                "gql": [sys.executable, HERE / "client.py", url, str(count), str(each)],
            }
            runs = figures[f"{count} subscriptions"] = {name: [] for name in clients}
            for _ in range(ROUNDS):
                for name, command in clients.items():
                    runs[name].append(read(command))
    reports.mkdir(parents=True, exist_ok=True)
    (reports / "bench-graphql.json").write_text(json.dumps(figures, indent=2))
    is_met = True
    print(f"{'processor time per event':28} {'Holdfast':>10} {'gql':>10} {'ratio':>7}   goal {GOAL}")
    for name, runs in figures.items():
        ours, theirs = (statistics.median(runs[client]) for client in ("holdfast", "gql"))
        is_met = is_met and theirs / ours >= GOAL
        print(f"{name:28} {ours:7.1f} µs {theirs:7.1f} µs {theirs / ours:7.1f}")
    return 0 if is_met else 1


sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
