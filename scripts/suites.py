#!/usr/bin/env python3
"""Chooses the slow suites that `.ci/run` runs: those whose sources a change touches, and a third of all, another one each day.

    scripts/suites.py choose       their goals, one a line; BASE=revision: the change begins there, not a day ago
    scripts/suites.py all          the goals of all slow suites
    scripts/suites.py times        the table of CONTRIBUTING: where the minutes of the last run went (reports/tally)
    scripts/suites.py --self-test  checks suites.txt beside the Makefile and the repository, and the choice
"""
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parents[1]
Suites = dict[str, tuple[int, list[str]]]


def suites() -> Suites:
    """Goal: its day, and the paths that ask for it."""
    lines = (ROOT / "scripts/suites.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return {goal: (int(day), paths) for goal, day, *paths in rows}


def git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def changed() -> list[str]:
    """The paths that differ from the last commit that is a day old. Without one, all paths count as changed."""
    base = os.environ.get("BASE") or next(iter(git("log", "-1", "--format=%H", "--before=1 day ago")), "")
    return git("diff", "--name-only", "--no-renames", base) if base else git("ls-files")


def choose(known: Suites, day: int, paths: list[str]) -> list[str]:
    def touches(prefix: str) -> bool:
        return any(path == prefix or path.startswith(f"{prefix}/") for path in paths)

    return [goal for goal, (its_day, prefixes) in known.items() if its_day == day % 3 or any(map(touches, prefixes))]


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
    for goal, (day, prefixes) in known.items():
        if not re.search(rf"^([\w -]* )?{goal}( [\w -]*)?:", makefile, re.MULTILINE):
            problems.append(f"{goal} is no goal of the Makefile")
        if day not in range(3):
            problems.append(f"{goal}: the day is 0, 1 or 2")
        problems += [f"{goal}: there is no {prefix}" for prefix in prefixes if not choose({"": (3, [prefix])}, 0, files)]
    if {day for day, _ in known.values()} != {0, 1, 2}:
        problems.append("a day has no suite")
    example: Suites = {"one": (0, ["a/b"]), "two": (1, ["a"]), "three": (2, ["c.txt"])}
    for day, paths, wanted in (
        (3, [], ["one"]),
        (4, ["a/bc/d"], ["two"]),
        (5, ["a/b/d"], ["one", "two", "three"]),
        (0, ["c.txt"], ["one", "three"]),
        (0, ["c.txt2"], ["one"]),
    ):
        if (found := choose(example, day, paths)) != wanted:
            problems.append(f"day {day}, {paths}: {found}, not {wanted}")
    print("\n".join(problems) or f"{len(known)} slow suites, each with a goal, a day and paths that exist")
    return 1 if problems else 0


def main() -> int:
    match sys.argv[1:]:
        case ["choose"]:
            print("\n".join(choose(suites(), int(time.time()) // 86400, changed())))
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
