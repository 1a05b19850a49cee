#!/usr/bin/env python3
"""Compares the public names of each product with those recorded in scripts/lint/api/, so that a review sees each change.

    scripts/lint/api.py             prints the differences; docs.sh wrote the symbol graphs that it reads
    scripts/lint/api.py --update    records the names
    scripts/lint/api.py --self-test

Re-exported names count as a product's own, as in docs.sh. Synthesized names are left out. The types of CodecCore, which HoldfastCodecs
re-exports, and those that HoldfastTesting and HoldfastHub re-export are in no list.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[2]
GRAPHS, LISTS = ROOT / "reports/docs/symbols", ROOT / "scripts/lint/api"
# An extension block of another module's type is not a name, but its members are.
EXTENSION = "swift.extension"


def names(graphs: list[dict]) -> list[str]:
    """The sorted names of a product, each with its path: `WebSocket.close(code:reason:)`."""
    found = {
        ".".join(symbol["pathComponents"])
        for graph in graphs
        for symbol in graph["symbols"]
        if symbol["kind"]["identifier"] != EXTENSION and "location" in symbol
    }
    return sorted(found)


def products() -> dict[str, list[str]]:
    folders = sorted(folder for folder in GRAPHS.iterdir() if folder.is_dir())
    return {folder.name: names([json.loads(path.read_text()) for path in folder.glob("*.symbols.json")]) for folder in folders}


def difference(recorded: list[str], present: list[str]) -> list[str]:
    gone, new = set(recorded) - set(present), set(present) - set(recorded)
    return [f"- {name}" for name in sorted(gone)] + [f"+ {name}" for name in sorted(new)]


def self_test() -> int:
    graph = {
        "symbols": [
            {"kind": {"identifier": "swift.struct"}, "pathComponents": ["A"], "location": {}},
            {"kind": {"identifier": "swift.method"}, "pathComponents": ["A", "b(_:)"], "location": {}},
            {"kind": {"identifier": "swift.method"}, "pathComponents": ["A", "made up"]},
            {"kind": {"identifier": "swift.extension"}, "pathComponents": ["Int"], "location": {}},
        ]
    }
    works = names([graph]) == ["A", "A.b(_:)"] and difference(["A", "B"], ["A", "C"]) == ["- B", "+ C"] and not difference(["A"], ["A"])
    print("a new name and a missing one are seen" if works else "a new or a missing name is not seen")
    return 0 if works else 1


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = products()
    if sys.argv[1:] == ["--update"]:
        LISTS.mkdir(exist_ok=True)
        for product, lines in found.items():
            (LISTS / f"{product}.txt").write_text("\n".join(lines) + "\n")
        return 0
    changed = False
    for product, lines in found.items():
        path = LISTS / f"{product}.txt"
        lines_of_difference = difference(path.read_text().splitlines() if path.exists() else [], lines)
        print("\n".join([f"{product}: {len(lines)} public names", *lines_of_difference]))
        changed = changed or bool(lines_of_difference)
    if changed:
        print("If that is meant: scripts/lint/api.py --update, and a line in CHANGELOG.md for what users see")
    return 1 if changed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
