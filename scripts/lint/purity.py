#!/usr/bin/env python3
"""The purity check: Sources/Core contains only rules, without I/O, clocks, randomness or tasks.

    purity.py               checks Sources/Core
    purity.py --self-test   checks that it finds every violation, and nothing else

It reads tokens, not types: comments and the text of strings are removed first, code inside "\\(…)" is kept.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE = ROOT / "Sources" / "Core"

WORDS = {
    "concurrency": "async await actor Task TaskGroup withTaskGroup withThrowingTaskGroup withDiscardingTaskGroup AsyncStream "
    "AsyncThrowingStream withCheckedContinuation withCheckedThrowingContinuation withUnsafeContinuation withUnsafeThrowingContinuation",
    "a clock": "Clock ContinuousClock SuspendingClock Date DispatchTime NIODeadline",
    "chance": "SystemRandomNumberGenerator arc4random getrandom",
    "input or output": "FileHandle CommandLine ProcessInfo",
}
CALLS = {"input or output": "print debugPrint dump readLine"}
CHANCE = re.compile(r"\.(random|randomElement|shuffled|shuffle)\s*\(")
# Not a member, and not in backticks. `Swift.` in front changes nothing.
ALONE = r"(?:(?<![\w.`])|(?<=\bSwift\.))"
IMPORT = re.compile(r"^[^\S\n]*(?:@\w+(?:\([^)\n]*\))?[^\S\n]+|\w+[^\S\n]+)*?import[^\S\n]+(?:(?:struct|class|enum|protocol|func|var|let|typealias)[^\S\n]+)?(\w+)", re.M)


def code_only(source):
    """The source with comments and the text of strings replaced by spaces. Line numbers stay the same."""
    out = list(source)

    def blank(start, end):
        for index in range(start, end):
            if out[index] != "\n":
                out[index] = " "

    def comment(start):
        """The position after the comment that begins at `start`. Block comments nest."""
        if source.startswith("//", start):
            end = source.find("\n", start)
            return len(source) if end < 0 else end
        depth, index = 0, start
        while index < len(source):
            if source.startswith("/*", index):
                depth, index = depth + 1, index + 2
            elif source.startswith("*/", index):
                depth, index = depth - 1, index + 2
                if depth == 0:
                    break
            else:
                index += 1
        return index

    def string(start):
        """The position after the string that begins at `start`, which is a quote or the first # of a raw string."""
        hashes = len(source[start:]) - len(source[start:].lstrip("#"))
        index = start + hashes
        quote = '"""' if source.startswith('"""', index) else '"'
        index += len(quote)
        text = start
        escape = "\\" + "#" * hashes
        while index < len(source):
            if source.startswith(quote + "#" * hashes, index):
                index += len(quote) + hashes
                break
            if source.startswith(escape + "(", index):
                blank(text, index + len(escape) + 1)
                index = text = code(index + len(escape) + 1, until=")")
            elif source.startswith(escape, index):
                index += len(escape) + 1
            elif source[index] == "\n" and quote == '"':
                break
            else:
                index += 1
        blank(text, min(index, len(source)))
        return index

    def code(index, until=None):
        depth = 0
        while index < len(source):
            character = source[index]
            if source.startswith(("//", "/*"), index):
                end = comment(index)
                blank(index, end)
                index = end
            elif character == '"' or (character == "#" and re.match(r'#+"', source[index:])):
                index = string(index)
            else:
                if character == "(":
                    depth += 1
                elif character == ")":
                    if until and depth == 0:
                        return index
                    depth -= 1
                index += 1
        return index

    code(0)
    return "".join(out)


def arguments(code, start):
    """The text between the parenthesis before `start` and its partner."""
    depth = 1
    for index in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[index], 0)
        if depth == 0:
            return code[start:index]
    return code[start:]


def violations(source, core_targets):
    """Yields (line number, violation)."""
    code = code_only(source)

    def line(match):
        return code.count("\n", 0, match.start(match.lastindex or 0)) + 1

    for match in IMPORT.finditer(code):
        if match[1] not in core_targets:
            yield line(match), f"imports {match[1]}, which is not a Core target"
    for kind, words in WORDS.items():
        for match in re.finditer(rf"{ALONE}({'|'.join(words.split())})\b(?!`)", code):
            yield line(match), f"{kind}: {match[1]}"
    for kind, words in CALLS.items():
        for match in re.finditer(rf"{ALONE}(?<!func )({'|'.join(words.split())})\s*\(", code):
            yield line(match), f"{kind}: {match[1]}"
    for match in CHANCE.finditer(code):
        if not re.search(r"\busing\s*:", arguments(code, match.end())):
            yield line(match), f"chance without `using:`: {match[1]}"


SEEN = [
    "import Foundation", "public import NIOCore", "@_exported public import Dispatch", "import struct Foundation.Date",
    "@preconcurrency import Glibc", "func f() async {}", "let x = await f()", "Task { }", "actor Counter {}",
    "let now = ContinuousClock().now", "func f(_ clock: some Clock) {}", "var at: Date", "print(1)", "debugPrint(1)", "Swift.print(1)",
    "let n = Int.random(in: 0...9)", "let n = Int.random(in: Int(a)...Int(b))", "let a = list.shuffled()", "list.randomElement()",
    "var g = SystemRandomNumberGenerator()", 'let s = "\\(Int.random(in: 0...9))"', '/* " */ print(1) /* " */',
    '/* outer /* inner */ */ print("x")', 'let s = #"\\("#; print(1)', 'let s = """\n " \\(f(")")) \n"""; print(s)',
]  # fmt: skip
UNSEEN = [
    "import MachineCore", "public import MachineCore", "// print(1)", "/// Uses a Clock, a Date and Task.", "/* /* await */ print(1) */",
    'let s = "print(1) and await"', 'let s = #"say "print(1)""#', 'let s = """\n await "print(1)"\n"""', 'let s = "\\(name) // " + "Date"',
    "let n = Int.random(in: 0...9, using: &generator)", "list.shuffled(using: &generator)", "let update = 1; let asynchronous = 2",
    "func print(_ x: Int) {}", "case async2, printer", "let d = Double.random(in: min(a, b)...max(a, b), using: &generator)",
]  # fmt: skip


def self_test():
    problems = [f"not seen: {source!r}" for source in SEEN if not list(violations(source, {"MachineCore"}))]
    problems += [f"seen: {source!r}: {found}" for source in UNSEEN if (found := list(violations(source, {"MachineCore"})))]
    where = list(violations('let s = """\n\n"""\nimport Foundation', set()))
    if where != [(4, "imports Foundation, which is not a Core target")]:
        problems.append(f"wrong place: {where}")
    return problems


def gate():
    files = sorted(CORE.rglob("*.swift"))
    if not files:
        return [f"no sources in {CORE}"]
    core_targets = {entry.name for entry in CORE.iterdir() if entry.is_dir()}
    return [
        f"{path.relative_to(ROOT)}:{line}: {problem}" for path in files for line, problem in violations(path.read_text(), core_targets)
    ]


if __name__ == "__main__":
    found = self_test() if "--self-test" in sys.argv else gate()
    print("\n".join(found) or "pure")
    sys.exit(bool(found))
