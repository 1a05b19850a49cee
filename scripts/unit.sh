#!/usr/bin/env bash
# Runs the unit tests. If at most three fail, they are run again, without the others.
#
# A test that then passes is named as unsteady and does not fail the run: many tests wait for real sockets, and the machine may be busy.
# Its first failure stays in reports/unit.log.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

run() { swift test --skip-build --disable-xctest --no-parallel "$@" 2>&1; }

run | tee "$log"
status=${PIPESTATUS[0]}
total=$(sed -nE 's/.*Test run with ([0-9]+) tests? .*/\1/p' "$log" | tail -n 1)
mapfile -t failed < <(sed -nE 's/^✘ Test (.*) failed after .*/\1/p' "$log" | grep -v '^run with ' | sed -E 's/ with [0-9]+ test cases?$//' | sort -u)
# A run that crashed, or that failed outside of its tests, is not repeated.
[ "$status" != 0 ] && [ -n "$total" ] && [ ${#failed[@]} -ge 1 ] && [ ${#failed[@]} -le 3 ] || exit "$status"

# Prints a regular expression for a test by its name in the log, which is in quotes if the name is a sentence.
filter() {
    local name=${1#\"}
    name=${name%\"}
    sed 's/[][\.*^$()+?{|}]/\\&/g; s|^|/`?|' <<< "$name"
}

left=0
for name in "${failed[@]}"; do
    echo "== again: $name"
    if run --filter "$(filter "$name")" > "$log" && grep -qE 'Test run with [1-9]' "$log"; then
        echo "UNSTEADY $name: failed, and passed when it ran again"
    else
        sed 's/^/    /' "$log"
        echo "FAILED $name: twice"
        left=$((left + 1))
    fi
done
echo "$((total - left)) passed, $left failed"
[ "$left" = 0 ]
