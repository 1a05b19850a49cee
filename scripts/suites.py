#!/usr/bin/env python3
"""Chooses the slow suites that `.ci/run` runs: a third of all, another third each day, and those whose sources a change touches.

    scripts/suites.py choose       prints their goals, one per line, as many as fit after a build of this length (reports/tally);
                                   SUITES_BASE=revision: the change begins there instead of a day ago
    scripts/suites.py all          the goals of all slow suites
    scripts/suites.py times        a table of the minutes of the last run (reports/tally)
    scripts/suites.py --self-test  checks suites.txt against the Makefile and the repository, and the choice
"""
import os
import pathlib
import subprocess
import sys
import time
import typing

ROOT = pathlib.Path(__file__).parents[1]
# The minutes of slow suites that fit in a run of 45 minutes: two run at a time, beside the build and the quick ones.
BUDGET = 36
# How long the build took when these minutes were measured. On a machine that builds more slowly, fewer suites fit.
BUILD_SECONDS = 624


class Suite(typing.NamedTuple):
    day: int
    minutes: int
    paths: list[str]


Suites = dict[str, Suite]


def suites() -> Suites:
    """By goal."""
    lines = (ROOT / "scripts/suites.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return {goal: Suite(int(day), int(minutes), paths) for goal, day, minutes, *paths in rows}


def git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def changed() -> list[str]:
    """The paths that differ from the last commit that is a day old. Without such a commit all paths count as changed."""
    base = os.environ.get("SUITES_BASE") or next(iter(git("log", "-1", "--format=%H", "--before=1 day ago")), "")
    return git("diff", "--name-only", "--no-renames", base) if base else git("ls-files")


def budget() -> int:
    """The minutes that fit, by the time of this run's build."""
    tally = ROOT / "reports/tally"
    rows = [line.split("\t") for line in tally.read_text().splitlines()] if tally.exists() else []
    seconds = next((int(row[3]) for row in rows if row[0] == "build"), BUILD_SECONDS)
    return int(BUDGET * min(1, BUILD_SECONDS / max(seconds, 1)))


def choose(known: Suites, day: int, paths: list[str], left: int = BUDGET) -> tuple[list[str], list[str]]:
    """Today's suites and those of the changed paths that fit, and those that must wait for another day."""

    def touches(prefix: str) -> bool:
        return any(path == prefix or path.startswith(f"{prefix}/") for path in paths)

    chosen, waiting = [], []
    todays = [goal for goal, suite in known.items() if suite.day == day % 3]
    for goal in todays + [goal for goal, suite in known.items() if goal not in todays and any(map(touches, suite.paths))]:
        if known[goal].minutes <= left:
            chosen.append(goal)
            left -= known[goal].minutes
        else:
            waiting.append(goal)
    return chosen, waiting


def times() -> None:
    rows = [line.split("\t") for line in (ROOT / "reports/tally").read_text().splitlines()]
    print("| Suite or check | Minutes | Checks |\n|---|---:|---:|")
    for name, passed, failed, seconds in sorted(rows, key=lambda row: -int(row[3])):
        if int(seconds) >= 6:
            print(f"| {name} | {int(seconds) / 60:.1f} | {int(passed) + int(failed):,} |")


def self_test() -> int:
    known, problems = suites(), []
    makefile = (ROOT / "Makefile").read_text()
    files = git("ls-files", "--cached", "--others", "--exclude-standard")
    for goal, suite in known.items():
        if f"\n{goal}:" not in makefile:
            problems.append(f"{goal} is no goal of the Makefile")
        problems += [f"{goal}: there is no {prefix}" for prefix in suite.paths if not choose({"": Suite(3, 0, [prefix])}, 0, files)[0]]
    for day in range(3):
        minutes = [suite.minutes for suite in known.values() if suite.day == day]
        if not 0 < sum(minutes) <= BUDGET:
            problems.append(f"day {day}: {sum(minutes)} minutes")
    if sorted({suite.day for suite in known.values()}) != [0, 1, 2]:
        problems.append("the days are 0, 1 and 2")
    example = {"one": Suite(0, 5, ["a/b"]), "two": Suite(1, BUDGET - 6, ["a"]), "three": Suite(2, 2, ["c.txt"])}
    for day, paths, wanted in (
        (3, [], ["one"]),
        (4, ["a/bc/d"], ["two"]),
        (5, ["a/b/d"], ["three", "one"]),
        (0, ["a/b/d", "c.txt"], ["one", "two"]),
        (0, ["c.txt"], ["one", "three"]),
        (0, ["c.txt2"], ["one"]),
    ):
        found, waiting = choose(example, day, paths)
        if found != wanted or (waiting != []) != ("a/b/d" in paths):
            problems.append(f"day {day}, {paths}: {found} and {waiting}, not {wanted}")
    if choose(example, 3, ["a/b/d"], 4) != ([], ["one", "two"]):
        problems.append("a slow machine runs no more than fits")
    print("\n".join(problems) or f"{len(known)} slow suites, each with a goal, a day and paths that exist")
    return 1 if problems else 0


def main() -> int:
    match sys.argv[1:]:
        case ["choose"]:
            chosen, waiting = choose(suites(), int(time.time()) // 86400, changed(), budget())
            print("\n".join(chosen))
            if waiting:
                print(f"slow suites that do not fit into this run: {', '.join(waiting)}", file=sys.stderr)
        case ["all"]:
            print("\n".join(suites()))
        case ["times"]:
            times()
        case ["--self-test"]:
            return self_test()
        case _:
            print(__doc__, file=sys.stderr)
            return 64
    return 0


if __name__ == "__main__":
    sys.exit(main())
