#!/usr/bin/env python3
"""Checks the Markdown: its Swift code must be in files that are built, and its links must lead to files.

- Every ```swift block outside of comments is a run of lines in one snippet or in the sample "Board", apart from indentation.
- Every relative link leads to a file, and so does every path in `code` that begins with a directory of this package.
"""
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = {".build", ".cache", ".venv", "reports"}
SNIPPETS = ["Snippets", "Examples/Board", "Tests/BoardTests"]
MARKER = re.compile(r"^\s*// snippet\.")
PATH = re.compile(r"`((?:Sources|Tests|Conformance|Interop|Benchmarks|Fuzz|Snippets|scripts|\.ci)/[\w./+-]*)`")


def windows(lines, count):
    for start in range(len(lines) - count + 1):
        yield textwrap.dedent("\n".join(lines[start : start + count])).strip()


def problems(path, snippets):
    text = path.read_text()
    place = path.relative_to(ROOT)
    for match in re.finditer(r"^( *)```swift\n(.*?)^\1```", text, re.M | re.S):
        line = text.count("\n", 0, match.start()) + 1
        code = textwrap.dedent(match[2]).strip()
        if not any(code in windows(snippet, code.count("\n") + 1) for snippet in snippets):
            yield f"{place}:{line}: this code is in none of {', '.join(SNIPPETS)}"
    prose = re.sub(r"^ *```.*?^ *```", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)
    targets = [(match, path.parent / match[1]) for match in re.finditer(r"\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)", prose)]
    targets += [(match, ROOT / match[1]) for match in PATH.finditer(prose)]
    for match, target in targets:
        if not target.exists():
            yield f"{place}:{prose.count(chr(10), 0, match.start()) + 1}: {match[1]} does not exist"


def main():
    snippets = [
        [line for line in path.read_text().splitlines() if not MARKER.match(line)]
        for folder in SNIPPETS
        for path in sorted((ROOT / folder).glob("*.swift"))
    ]
    files = [path for path in sorted(ROOT.rglob("*.md")) if not SKIPPED & set(path.relative_to(ROOT).parts)]
    found = [problem for path in files for problem in problems(path, snippets)]
    print("\n".join(found) or f"{len(files)} files")
    return bool(found) or not files or not snippets


if __name__ == "__main__":
    sys.exit(main())
