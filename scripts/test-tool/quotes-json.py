"""Checks the output of `holdfast quotes --json`. Argument: the expected number of symbols."""
import json, sys

versions = {}
for line in sys.stdin:
    quote = json.loads(line)
    assert 0 < quote["bid"] < quote["ask"] and quote["last"] > 0, line
    assert quote["version"] >= versions.get(quote["symbol"], 0), f"{line} goes back"
    versions[quote["symbol"]] = quote["version"]
assert len(versions) == int(sys.argv[1]), len(versions)
assert any(version > 1 for version in versions.values())
