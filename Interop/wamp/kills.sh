#!/bin/bash
# kills.sh RESTART STORM…: whenever all storms say that all works, the router is killed and started again; a line for each check.
#
# Each argument is a command. A storm puts the router under load, says `loaded` three times, once more after each loss, and ends.
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
