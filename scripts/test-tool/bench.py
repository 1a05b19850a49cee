"""Checks that the output of `holdfast bench --json` is consistent. Argument: the size of a message."""
import json, sys

size = int(sys.argv[1])
report = json.load(sys.stdin)
latency = report["latency"]
spread = [latency[name] for name in ("min", "p50", "p90", "p99", "p999", "p9999", "max")]
assert report["messages"] > 0 and report["bytesReceived"] == report["messages"] * size
assert not any(report["errors"].values()) and report["unsent"] == 0
assert spread == sorted(spread) and spread[0] > 0
assert sum(row["count"] for row in report["histogram"]) == latency["count"] >= report["messages"]
assert "rate" not in report and not report["wasStopped"]
