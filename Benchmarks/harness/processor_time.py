"""Compares the processor time of two clients at the same server, in turns."""
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


@contextlib.contextmanager
def server(script: pathlib.Path):
    """Runs a server, which gets a port and a file; gives its port once it accepts connections."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.NamedTemporaryFile() as file:
        process = subprocess.Popen([sys.executable, script, str(port), file.name], stderr=subprocess.DEVNULL)
        try:
            for _ in range(600):
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                time.sleep(0.05)
            yield port
        finally:
            process.kill()
            process.wait()


def microseconds(command) -> float:
    """Runs a client, which prints `microseconds N`."""
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    return float(output.split()[1])


def compare(rows, peer: str, goal: float, report: pathlib.Path) -> int:
    """Prints a table of medians, and writes all figures to the report; returns 1 if a ratio misses the goal.

    rows: the name of each row, with our command and that of the peer.
    """
    figures = {name: {"holdfast": [], peer: []} for name, _, _ in rows}
    for name, ours, theirs in rows:
        for _ in range(ROUNDS):
            for client, command in (("holdfast", ours), (peer, theirs)):
                figures[name][client].append(microseconds(command))
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(figures, indent=2))
    is_met = True
    print(f"{'processor time per event':28} {'Holdfast':>10} {peer:>16} {'ratio':>7}   goal {goal}")
    for name, runs in figures.items():
        ours, theirs = (statistics.median(runs[client]) for client in ("holdfast", peer))
        is_met = is_met and theirs / ours >= goal
        print(f"{name:28} {ours:7.1f} µs {theirs:13.1f} µs {theirs / ours:7.1f}")
    return 0 if is_met else 1
