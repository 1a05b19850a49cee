#!/usr/bin/env python3
"""Names every public symbol in the given symbol graphs that has no documentation comment."""
import json
import pathlib
import sys

total, bare = 0, []
for path in sys.argv[1:]:
    for symbol in json.loads(pathlib.Path(path).read_text())["symbols"]:
        # An extension block of someone else's type is no declaration, and what the compiler makes has no place in a file.
        if symbol["kind"]["identifier"] == "swift.extension" or "location" not in symbol:
            continue
        total += 1
        if "docComment" not in symbol:
            place = symbol["location"]
            bare.append(f"{place['uri'].removeprefix('file://')}:{place['position']['line'] + 1}: {'.'.join(symbol['pathComponents'])}")
print("\n".join(sorted(bare)) or f"{total} public symbols, all documented")
sys.exit(bool(bare) or total == 0)
