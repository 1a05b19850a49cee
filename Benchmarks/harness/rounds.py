"""Runs rows. In each round every program runs once, so that a slower machine slows all of them."""

import dataclasses
import statistics
import sys
from dataclasses import dataclass, field

from .processes import Failure
from .rows import Goal, Row
from .settings import ROUNDS
from .work import Figures, Servers

UNITS = {"cpu": "ns", "p50": "µs", "p99": "µs", "bytes": "bytes", "rate": "/s"}
HIGHER_IS_BETTER = {"rate"}


@dataclass
class Measured:
    """The figures of a row's programs in each round, or the reason for none."""

    row: Row
    figures: dict[str, list[Figures]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def values(self, program: str, measure: str) -> list[float]:
        if program in self.row.sums:
            return [sum(pair) for pair in zip(*(self.values(part, measure) for part in self.row.sums[program]))]
        return [figures[measure] for figures in self.figures.get(program, [])]

    def failure(self, program: str) -> str | None:
        failures = [f"{part}: {self.failures[part]}" for part in self.row.sums.get(program, ()) if part in self.failures]
        return self.failures.get(program) or "; ".join(failures) or None


@dataclass(frozen=True)
class Result:
    """One of our programs against one peer. `ratio`: how many times better ours is; None if one of them failed."""

    name: str
    measure: str
    unit: str
    ours: float | None
    reference: float | None
    peer: str
    ratio: float | None
    goal: float | None
    failure: str | None

    @property
    def verdict(self) -> str:
        if self.failure:
            return "FAILED"
        if self.goal is None or self.ratio is None:
            return ""
        return "met" if self.ratio >= self.goal else "missed"

    def json(self) -> dict:
        return dataclasses.asdict(self) | {"met": self.ratio >= self.goal if self.ratio is not None and self.goal is not None else None}


def run(row: Row) -> Measured:
    measured = Measured(row)
    servers = Servers()
    try:
        for turn in range(ROUNDS):
            progress(f"{row.name}: round {turn + 1} of {ROUNDS}")
            for program in row.programs():
                if program not in measured.failures:
                    run_program(program, measured, servers)
    finally:
        servers.stop_all()
        progress("")
    return measured


def run_program(program: str, measured: Measured, servers: Servers) -> None:
    """Runs a program again with a new server after a failure. After a second failure it leaves the row."""
    for attempt in (1, 2):
        try:
            figures = measured.row.work_of(program).run(program, servers)
            measured.figures.setdefault(program, []).append(figures)
            return
        except Failure as failure:
            servers.stop_all()
            if attempt == 2:
                measured.failures[program] = str(failure)
                progress("")
                print(f"bench: {measured.row.name}: {program} failed: {failure}", file=sys.stderr)


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(f"bench: {text}", file=sys.stderr, flush=True)


def median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def results(measured: Measured) -> list[Result]:
    found = []
    for measure in measured.row.measures:
        for ours, goals in measured.row.goals.items():
            found += [result(measured, measure, ours, peer, goal) for peer, goal in goals.items()]
    return found


def result(measured: Measured, measure: str, ours: str, peer: str, goal: Goal) -> Result:
    mine, theirs = measured.values(ours, measure), measured.values(peer, measure)
    failures = [f"{name}: {why}" for name in (ours, peer) if (why := measured.failure(name))]
    ratio, reference = None, median(theirs)
    if not failures:
        better = [a / b if measure in HIGHER_IS_BETTER else b / a for a, b in zip(mine, theirs) if a > 0 and b > 0]
        ratio = median(better)
    if callable(goal):
        goal = goal(reference) if reference is not None else None
    several = len(measured.row.measures) > 1
    name = f"{measured.row.name}{' ' + measure if several else ''}, {ours}"
    return Result(name, measure, UNITS[measure], median(mine), reference, peer, ratio, goal, "; ".join(failures) or None)
