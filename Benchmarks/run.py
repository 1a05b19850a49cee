#!/usr/bin/env python3
"""Measures Holdfast against its peers and checks the goals. run.sh builds the programs and calls it.

`run.py --list` prints the rows, `run.py --draw` draws the chart of the latest results again.
"""

import argparse
import resource
import signal
import sys
import time

from harness import certificate, chart, report, rounds
from harness.rows import ROWS
from harness.settings import CHART, RESULTS, ROOT, ROUNDS, ROW, SECONDS


def chosen_rows() -> list:
    rows = [row for row in ROWS if ROW.lower() in row.name.lower()]
    if not rows:
        sys.exit(f"error: no row's name holds '{ROW}'; there are: {', '.join(row.name for row in ROWS)}")
    return rows


def draw() -> None:
    targets = [RESULTS / "performance"] + ([ROOT / "docs" / "performance"] if CHART == "docs" else [])
    for target in targets:
        try:
            for path in chart.draw(RESULTS / "latest.json", target):
                print(f"written: {path.relative_to(ROOT)}")
        except ImportError as error:
            print(f"bench: no chart: {error}", file=sys.stderr)


def allow_many_connections() -> None:
    """For the rows with 10,000 connections. The servers inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the rows")
    parser.add_argument("--draw", action="store_true", help="draw the chart of the latest results again")
    options = parser.parse_args()
    if options.list:
        print("\n".join(row.name for row in ROWS))
        return 0
    if options.draw:
        draw()
        return 0

    # So that `kill` also stops the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = time.monotonic()
    RESULTS.mkdir(parents=True, exist_ok=True)
    allow_many_connections()
    certificate.make()
    measured = [rounds.run(row) for row in chosen_rows()]
    results = [result for each in measured for result in rounds.results(each)]
    latest = report.write_json(results, measured)

    print("## What each program costs\n")
    print(report.figures_table(measured))
    print("\n## Beside its peers\n")
    if results:
        print(report.goals_table(results))
    if any(each.failures for each in measured):
        print("\n" + report.failures(measured))
    verdicts = [result.verdict for result in results]
    failed = sum(len(each.failures) for each in measured)
    print(f"\n{verdicts.count('met')} goals met, {verdicts.count('missed')} missed, {failed} programs failed.")
    print(f"Medians of {ROUNDS} interleaved rounds of {SECONDS:g} s; a ratio is the median of the rounds' ratios.")
    print(f"{report.machine()}; {time.monotonic() - started:.0f} s")
    print(f"written: {latest.relative_to(ROOT)}")
    draw()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
