#!/usr/bin/env python3
"""Checks that every bug in the lists of mutants still changes its file, because the code changes over time."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
CORE = ROOT / "Sources/Core"
FOLDERS = {"session": "SessionCore", "stream": "StreamCore", "protocol": "ProtocolCore", "graphql": "GraphQLCore", "socketio": "SocketIOCore", "documents": "DocumentCore", "wamp": "WAMPCore", "hub": "RoomCore", "rooms": "RoomCore"}


def file_of(part: str, name: str) -> pathlib.Path:
    if part != "store":
        return CORE / FOLDERS[part] / name
    # The store's mutants are copies of several modules, and run.sh flattens the folder of files.
    name = name.replace("WebSocketRuntime/", "WebSocketRuntime/Storage/", 1)
    return next((path for path in (ROOT / "Sources").glob(f"*/{name}")), ROOT / name)


total, stale = 0, []
for part in [*FOLDERS, "store"]:
    for line in (ROOT / f"scripts/mutants/{part}/list.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        fields = line.split("|", 2 if part == "rooms" else 1)
        name, script = fields[-2], fields[-1]
        total += 1
        path = file_of(part, name)
        if not path.exists():
            stale.append(f"{part}: there is no {name}: {script}")
        elif subprocess.run(["sed", script, path], check=True, capture_output=True, text=True).stdout == path.read_text():
            stale.append(f"{part}: {name} does not change: {script}")
print("\n".join(stale) or f"{total} bugs, each changes its file")
sys.exit(bool(stale) or total == 0)
