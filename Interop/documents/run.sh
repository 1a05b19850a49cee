#!/bin/bash
# Our shared documents beside those of Yjs (Debian's node-yjs), in random programs and at its server; see README.md.
#
#   Interop/documents/run.sh [programs] [server]     (no argument: both)
#
# PROGRAMS says how many programs run, SEED where their random numbers start. A program that failed is repeated with PROGRAMS=1 and the
# seed that stands below it. HOLDFAST_BIN names a program with our peer's commands. Without it the release build is made first.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
PROGRAMS=${PROGRAMS:-300} SEED=${SEED:-$((RANDOM * 32768 + RANDOM + 1))}

need_documents
PEER=$(swift_program HOLDFAST_BIN HoldfastPeer)
# Debian's packages lie outside of where node looks.
export NODE_PATH=/usr/share/nodejs

parts=${*:-programs server}

if [[ " $parts " == *" programs "* ]]; then
    tally timeout 1800 "$PEER" documents-oracle node "$ROOT/Interop/documents/oracle.cjs" --programs "$PROGRAMS" --seed "$SEED"
fi
if [[ " $parts " == *" server "* ]]; then
    # Two clients of each maker type at once, edit offline in the middle, and come back.
    port=$(free_port)
    start server node "$ROOT/Interop/documents/server.cjs" "$port"
    editors=()
    for name in yjs1 yjs2; do
        timeout 120 node "$ROOT/Interop/documents/client.cjs" "ws://127.0.0.1:$port" room $name 40 > "$work/$name.json" 2> "$work/$name.errors" &
        editors+=($!)
    done
    for name in ours1 ours2; do
        timeout 120 "$PEER" documents-edit "ws://127.0.0.1:$port" room $name 40 > "$work/$name.json" 2> "$work/$name.errors" &
        editors+=($!)
    done
    for pid in "${editors[@]}"; do wait "$pid" || true; done
    status=0
    python3 "$ROOT/Interop/documents/compare.py" "$work"/{yjs1,yjs2,ours1,ours2}.json > "$work/output" 2>&1 || { status=1; cat "$work"/*.errors >> "$work/output"; }
    report $status "server: two clients of Yjs and two of ours end with the same text, map and people"
fi
finish
