#!/bin/bash
# kills.sh PEER NODE-DIRECTORY URL REALM: kills Crossbar whenever our clients say that all works, and starts it again; a line for each check.
set -euo pipefail
here=$(dirname "$0")
coproc STORM { exec "$1" wamp storm "$3" "$4" 2>&1; }
pid=$STORM_PID
exec {lines}<&"${STORM[0]}"
kills=0
while read -r -t 90 line <&"$lines"; do
    if [ "$line" != loaded ]; then
        echo "$line"
    elif [ $kills -lt 2 ]; then
        kills=$((kills + 1))
        "$here/crossbar.sh" kill "$2"
        "$here/crossbar.sh" start "$2"
    fi
done
status=0
wait "$pid" || status=$?
exit $status
