#!/usr/bin/env python3
"""Counts what makes sources hard to read: files, their lines, repeated type names, and the public names of each product.

    scripts/counts.py [REVISION]     (no argument: the working tree)
"""
import collections
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]
TYPE = re.compile(r"^(?:@\w+(?:\([^)]*\))? |public |package |final |indirect |nonisolated )*(?:struct|class|enum|protocol|actor) ([A-Z]\w*)", re.MULTILINE)


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main(revision: str | None) -> None:
    listing = ["ls-tree", "-r", "--name-only", revision] if revision else ["ls-files", "-co", "--exclude-standard"]
    paths = git(*listing, "--", "Sources", "scripts/lint/api").splitlines()

    def text(path: str) -> str:
        return git("show", f"{revision}:{path}") if revision else (ROOT / path).read_text()

    swift = [path for path in paths if path.endswith(".swift") and not path.endswith(".pb.swift") and (revision or (ROOT / path).exists())]
    lines, places = [], collections.defaultdict(set)
    for path in swift:
        source = text(path)
        lines.append(source.count("\n"))
        for name in TYPE.findall(source):
            places[name].add("/".join(path.split("/")[:3]))
    homonyms = sorted(name for name, targets in places.items() if len(targets) > 1)
    print(f"files {len(lines)}, lines {sum(lines):,}, median {statistics.median(lines):g}, at most {max(lines)}, of at most 30 lines {sum(n <= 30 for n in lines)}")
    print(f"types whose name another target has, too: {len(homonyms)} ({', '.join(homonyms)})")
    for path in paths:
        if path.startswith("scripts/lint/api/"):
            names = text(path).splitlines()
            types = {name.split(".")[0] for name in names if name[0].isupper()}
            print(f"{pathlib.Path(path).stem}: {len(names):,} public names, {len(types)} of them begin with another type")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
