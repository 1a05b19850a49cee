"""Checks a report of `holdfast doctor --json` with an expression.

judge.py FILE EXPRESSION, where `found` maps ids to findings, `seen` has the observations, `report` is the whole. Prints the differences.
"""
import json
import sys


class Everything(dict):
    """A missing observation is an empty object, so that an expression about it is false instead of an error."""

    def __missing__(self, key):
        return Everything()


report = json.load(open(sys.argv[1]), object_hook=Everything)
found = Everything({finding["id"]: finding for finding in report["findings"]})
if any(ord(character) < 32 and character != "\n" for character in open(sys.argv[1]).read()):
    sys.exit("there are control characters in it")
names = {"found": found, "seen": report["observations"], "report": report}
if not eval(sys.argv[2], names):
    bad = [finding for finding in report["findings"] if finding["severity"] in ("warning", "broken")]
    sys.exit(f"not so: {sys.argv[2]}\n{json.dumps(bad, indent=1, ensure_ascii=False)}\n{json.dumps(report['observations']['unfinished'])}")
