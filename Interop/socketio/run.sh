#!/bin/bash
# Our Socket.IO client with python-socketio; see ../README.md.
#
#   Interop/socketio/run.sh [rows] [cuts]     (no argument: all)
#
# CUTS and KILLS change how often connections are cut and the server is killed with -9. HOLDFAST_BIN names a program with our peer's commands.
# Without it the release build is made first.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
CUTS=${CUTS:-200} KILLS=${KILLS:-10}
parts=${*:-rows cuts}

need_socketio
PEER=$(swift_program HOLDFAST_BIN HoldfastPeer)
HERE=$ROOT/Interop/socketio
export PYTHONDONTWRITEBYTECODE=1

if [[ " $parts " == *" rows "* ]]; then
    port=$(free_port)
    launch "$port" "$PYTHON" "$HERE/server.py" "$port" "$work/rows.txt"
    await_all
    tally timeout 300 "$PEER" socketio-rows "$port"
    # The snippet of the documentation, at the same server.
    snippet=$(dirname "$PEER")/SocketIOEvents
    if [ -x "$snippet" ]; then
        status=0
        timeout 60 "$snippet" "http://127.0.0.1:$port" > "$work/output" 2>&1 || status=$?
        grep -q '^hi 3' "$work/output" && grep -q '^it is number' "$work/output" && grep -q '^closed' "$work/output" || status=1
        report $status "the snippet of the documentation runs to its end"
    fi
fi
if [[ " $parts " == *" cuts "* ]]; then
    tally timeout 600 "$PEER" socketio-cuts "$work/cuts.txt" "$PYTHON" "$HERE/server.py" --cuts "$CUTS" --kills "$KILLS"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
