#!/usr/bin/env python3
"""Our Socket.IO client and that of python-socketio at the same server, in turns. Prints a table; all figures go to reports/bench-socketio.json.

    bench.py HOLDFAST REPORTS      called by run.sh

A figure is the client's processor time per event: received, sent, or sent and acknowledged. Ends with 1 if the goal is missed.
"""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent / "harness"))
from processor_time import compare, server  # noqa: E402

EVENTS = int(os.environ.get("EVENTS", "10000"))


def main(holdfast, reports):
    with server(HERE.parents[1] / "Interop/socketio/server.py") as port:
        url = f"http://127.0.0.1:{port}"
        rows = [
            (name, [holdfast, "socketio-measure", url, kind, "--events", str(EVENTS)], [sys.executable, HERE / "client.py", url, kind, str(EVENTS)])
            for name, kind in (("received", "receive"), ("sent", "send"), ("acknowledged, one by one", "ask"))
        ]
        return compare(rows, "python-socketio", 10, reports / "bench-socketio.json")


sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
