#!/bin/bash
# kills.sh RESTART STORM…: kills and restarts the router whenever all storms report that everything works. Prints a line for each check.
#
# Each argument is a command. A storm loads the router, prints `loaded` three times, each time after a loss is repaired, and ends.
set -euo pipefail
restart=$1
shift
# shellcheck disable=SC2086  # They are words.
exec {lines}< <(
    for storm; do
        { timeout 240 $storm 2>&1 || echo "not ok $storm: ended with status $?"; } &
    done
    wait
)
loaded=0
while read -r line <&"$lines"; do
    if [ "$line" != loaded ]; then
        echo "$line"
        continue
    fi
    loaded=$((loaded + 1))
    if [ $((loaded % $#)) = 0 ] && [ $loaded -lt $((3 * $#)) ]; then $restart; fi
done
