"""Prints a table, and writes all results to `.build/bench/latest.json`."""

import datetime
import json
import os
import pathlib
import platform

from .rounds import UNITS, Measured, Result, median
from .settings import RESULTS, ROUNDS, SECONDS


def machine() -> str:
    cpu = "unknown processor"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("model name", "Model", "CPU implementer")):
            cpu = line.partition(":")[2].strip()
            break
    return f"{cpu}, {os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}"


def number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def short(value: float | None) -> str:
    return f"{value:.3g}" if value is not None else "–"


def with_unit(value: float | None, unit: str) -> str:
    return f"{number(value)} {unit}" if value is not None else "–"


def columns(lines: list[list[str]], right: set[int]) -> str:
    """Markdown that is also aligned for a terminal."""
    widths = [max(len(line[index]) for line in lines) for index in range(len(lines[0]))]
    text = []
    for line in lines:
        cells = [cell.rjust(width) if index in right else cell.ljust(width) for index, (cell, width) in enumerate(zip(line, widths))]
        text.append("| " + " | ".join(cells) + " |")
    rule = [("-" * (width + 1) + ":") if index in right else "-" * (width + 2) for index, width in enumerate(widths)]
    text.insert(1, "|" + "|".join(rule) + "|")
    return "\n".join(text)


def goals_table(results: list[Result]) -> str:
    lines = [["name", "ours", "reference", "peer", "ratio", "goal", ""]]
    for r in results:
        lines.append(
            [r.name, with_unit(r.ours, r.unit), with_unit(r.reference, r.unit), r.peer, short(r.ratio), short(r.goal), r.verdict]
        )
    return columns(lines, right={1, 2, 4, 5})


def figures(all_measured: list[Measured]) -> list[dict]:
    """Every program's median in every row, failures included."""
    found = []
    for measured in all_measured:
        for program in measured.row.programs():
            for measure in measured.row.measures:
                value = median(measured.values(program, measure))
                found.append(
                    {"row": measured.row.name, "program": program, "measure": measure, "unit": UNITS[measure], "value": value,
                     "rounds": [round(v, 2) for v in measured.values(program, measure)], "failure": measured.failure(program)}
                )  # fmt: skip
    return found


def figures_table(all_measured: list[Measured]) -> str:
    """The cost of a message, round trip or connection for every program."""
    lines = [["row", "program", "median", "spread"]]
    for figure in figures(all_measured):
        spread = "–"
        if len(figure["rounds"]) > 1:
            spread = f"{number(min(figure['rounds']))} … {number(max(figure['rounds']))}"
        value = "FAILED" if figure["failure"] else with_unit(figure["value"], figure["unit"])
        lines.append([f"{figure['row']}, {figure['measure']}", figure["program"], value, spread])
    return columns(lines, right={2, 3})


def failures(all_measured: list[Measured]) -> str:
    """Each reason once, with its programs and rows."""
    rows: dict[tuple[str, str], list[str]] = {}
    for measured in all_measured:
        for program, why in measured.failures.items():
            rows.setdefault((program, why), []).append(measured.row.name)
    return "\n".join(f"FAILED: {program}: {why} ({', '.join(names)})" for (program, why), names in rows.items())


def write_json(results: list[Result], all_measured: list[Measured]) -> pathlib.Path:
    path = RESULTS / "latest.json"
    content = {
        "machine": machine(),
        "date": datetime.date.today().isoformat(),
        "rounds": ROUNDS,
        "seconds": SECONDS,
        "results": [result.json() for result in results],
        "figures": figures(all_measured),
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path
