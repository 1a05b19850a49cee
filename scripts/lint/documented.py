#!/usr/bin/env python3
"""Lists every public symbol in the given symbol graphs without a documentation comment."""
import json
import pathlib
import sys

total, bare = 0, []
for path in sys.argv[1:]:
    for symbol in json.loads(pathlib.Path(path).read_text())["symbols"]:
        # An extension block of another module's type is no declaration, and synthesized symbols are in no file.
        if symbol["kind"]["identifier"] == "swift.extension" or "location" not in symbol:
            continue
        total += 1
        if "docComment" not in symbol:
            place = symbol["location"]
            bare.append(f"{place['uri'].removeprefix('file://')}:{place['position']['line'] + 1}: {'.'.join(symbol['pathComponents'])}")
print("\n".join(sorted(bare)) or f"{total} public symbols, all documented")
sys.exit(bool(bare) or total == 0)
