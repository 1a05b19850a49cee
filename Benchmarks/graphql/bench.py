#!/usr/bin/env python3
"""Our GraphQL client and gql read the same events, in turns. Prints a table; all figures go to reports/bench-graphql.json.

Strawberry makes one event at a time, so a client sleeps between them, and each event wakes its threads. The burst server sends all at once.

    bench.py HOLDFAST REPORTS      called by run.sh

A figure is the client's processor time per event. Ends with 1 if the goal is missed, or a run failed.
"""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent / "harness"))
from processor_time import compare, server  # noqa: E402

EVENTS = int(os.environ.get("EVENTS", "20000"))


def main(holdfast, reports):
    rows = []
    strawberry = HERE.parents[1] / "Interop/graphql/strawberry_server.py"
    with server(strawberry) as slow, server(HERE / "burst_server.py") as fast:
        for way, port in (("one by one", slow), ("at once", fast)):
            url = f"ws://127.0.0.1:{port}/graphql"
            for count in (1, 100):
                each = EVENTS // count
                ours = [holdfast, "graphql-read", url, "--subscriptions", str(count), "--events", str(each)]
                rows.append((f"{count} subscriptions, {way}", ours, [sys.executable, HERE / "client.py", url, str(count), str(each)]))
        return compare(rows, "gql", 10, reports / "bench-graphql.json")


sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
