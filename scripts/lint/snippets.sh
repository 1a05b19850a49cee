#!/usr/bin/env bash
# Checks that every snippet was built, and runs those that need no foreign server to their end.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(swift build --show-bin-path)
status=0
for snippet in Snippets/*.swift; do
    name=$(basename "$snippet" .swift)
    [ -x "$build/$name" ] || { echo "$snippet was not built"; status=1; }
done
for name in ManualTime CutLink BadNetwork WAMPRouterFaults; do
    timeout 20 "$build/$name" | tee /dev/stderr | grep -q '^closed' || { echo "Snippets/$name.swift did not end as it should"; status=1; }
done
exit $status
