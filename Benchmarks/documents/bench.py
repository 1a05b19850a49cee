#!/usr/bin/env python3
"""Our documents beside Yjs and yrs, in turns, on recorded editing. Prints a table; all figures go to reports/bench-documents.json.

    bench.py HOLDFAST YRS-PYTHON REPORTS      called by run.sh

A figure is processor time, the median of the rounds; bytes are counted once. A ratio above 1 says how many times less we need. Ends with 1 if
the states differ from those of Yjs in length. A missed goal is not a failure: on a busy machine any goal can be missed.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
ROUNDS = int(os.environ.get("ROUNDS", "3"))
RANDOM = os.environ.get("RANDOM_EDITS", "30000")
# Goals as factors: (work, figure, against Yjs, against yrs).
GOALS = {
    ("automerge-paper", "replay ms"): (5, 15),
    ("automerge-paper", "parse v1 ms"): (None, 3),
    ("automerge-paper", "apply all updates ms"): (None, 10),
    ("memory", "document memory B"): (None, 1),
    ("random places", "random replay ms"): (8, None),
    ("friendsforever", "apply all updates ms"): (30, None),
}


def run(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout
    return {name: float(value) for value, name in (line.split(" ", 1) for line in out.splitlines())}


def main(holdfast, python, reports):
    with tempfile.TemporaryDirectory() as folder:
        updates = pathlib.Path(folder) / "friendsforever.jsonl.gz"
        traces = HERE / "traces"
        subprocess.run(["node", HERE / "concurrent.cjs", traces / "friendsforever.json.gz", updates], check=True)
        state = pathlib.Path(folder) / "state"
        subprocess.run([holdfast, "documents-bench", "state", traces / "automerge-paper.json.gz", state], check=True)
        works = [
            ("memory", ["memory", state]),
            ("automerge-paper", ["trace", traces / "automerge-paper.json.gz"]),
            ("rustcode", ["trace", traces / "rustcode.json.gz"]),
            ("friendsforever", ["updates", updates]),
            ("random places", ["random", RANDOM]),
        ]
        programs = {
            "ours": [holdfast, "documents-bench"],
            "Yjs": ["node", "--expose-gc", HERE / "yjs.cjs"],
            "yrs": [python, HERE / "yrs.py"],
        }
        figures, differ = {}, False
        for work, arguments in works:
            rounds = {name: [] for name in programs}
            for _ in range(ROUNDS):
                for name, command in programs.items():
                    rounds[name].append(run([*command, *arguments]))
            figures[work] = {
                name: {key: statistics.median(r[key] for r in results) for key in results[0]} for name, results in rounds.items()
            }
            print(f"{work}\n{'':32}{'ours':>12}{'Yjs':>12}{'yrs':>12}{'Yjs/ours':>10}{'yrs/ours':>10}  goals")
            for key, ours in figures[work]["ours"].items():
                yjs, yrs = (figures[work][name].get(key) for name in ("Yjs", "yrs"))
                if yjs is None and yrs is None:
                    continue
                ratios = [None if value is None or ours <= 0 else value / ours for value in (yjs, yrs)]
                goals = GOALS.get((work, key), (None, None))
                words = [
                    f"{goal}x {name} {'met' if ratio is not None and ratio >= goal else 'missed'}"
                    for goal, ratio, name in zip(goals, ratios, ("Yjs", "yrs")) if goal is not None
                ]
                cells = "".join(f"{value:12.2f}" if value is not None else f"{'-':>12}" for value in (ours, yjs, yrs))
                print(f"  {key:30}{cells}{''.join(f'{r:10.1f}' if r is not None else f'{str():>10}' for r in ratios)}  {', '.join(words)}")
                # The same history makes the same bytes, so also the same length. yrs orders keys at random, but these are texts.
                differ |= key.endswith("v1 B") and yjs != ours
    reports.mkdir(exist_ok=True)
    (reports / "bench-documents.json").write_text(json.dumps({"rounds": ROUNDS, "figures": figures}, indent=1))
    return 1 if differ else 0


sys.exit(main(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])))
