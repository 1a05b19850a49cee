#!/bin/bash
# A hub and its clients are killed and frozen, links cut, dates changed, disks filled and made read-only, and directories restored.
# Then two checkers judge the histories.
# One of the clients and one of the checkers are in Python, and were written only from docs/rooms-protocol.md.
#
#   Interop/rooms/chaos.sh [share]     (no argument: all of it, minutes)
#
# HOLDFAST and HOLDFAST_BIN name the tool and our peer. Without them the release builds are made first. SEED repeats the faults of a run.
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
case ${1:-} in
    share) PLAIN=20 DISK=12 COPIES=12 KILLS=2 MORE=() ;;
    '') PLAIN=240 DISK=60 COPIES=90 KILLS=24 MORE=(--restore hub --found 1) ;;
    *) die "unknown part '$1' (there is: share)" ;;
esac
SEED=${SEED:-$RANDOM}
HOLDFAST=$(swift_program HOLDFAST holdfast)
HOLDFAST_BIN=$(swift_program HOLDFAST_BIN HoldfastPeer)
need_python
need_apt gcc libc6-dev
reports=$ROOT/reports/chaos
rm -rf "$reports"
mkdir -p "$reports/plain" "$reports/disk" "$reports/copies"
calendar=$reports/calendar.so
cc -shared -fPIC -O1 -o "$calendar" "$ROOT/Interop/rooms/calendar.c"

# run NAME ARGUMENTS…: one stage. Its output is stored and shown.
run() {
    local name=$1
    shift
    "$PYTHON" "$ROOT/Interop/rooms/chaos.py" --holdfast "$HOLDFAST" --peer "$HOLDFAST_BIN" --reports "$reports/$name" "$@" 2>&1 |
        tee "$reports/$name.txt" || true
}

# A checker that detects nothing would accept every run.
if "$PYTHON" "$ROOT/Interop/rooms/checker.py" --self-test; then echo 'ok checker.py detects every violation'; else
    echo 'not ok checker.py misses a violation'
fi | tee "$reports/checker.txt"
run plain --seconds "$PLAIN" --kills "$KILLS" --seed "$SEED" --calendar "$calendar"
run copies --seconds "$COPIES" --seed "$((SEED + 2))" --restore client --restore unseen "${MORE[@]}"
if [ "$(id -u)" = 0 ]; then
    # A file system in memory that only these processes see.
    export -f run
    export ROOT PYTHON HOLDFAST HOLDFAST_BIN reports
    mkdir -p "$reports/disk/small"
    unshare --mount bash -c "mount -t tmpfs -o size=64m small '$reports/disk/small' && \
        run disk --seconds '$DISK' --kills 1 --seed '$((SEED + 1))' --disk '$reports/disk/small'"
else
    echo 'not ok disks that are full and read-only need root' | tee "$reports/disk.txt"
fi

passed=$(cat "$reports"/*.txt | grep -c '^ok' || true)
failed=$(cat "$reports"/*.txt | grep -c '^not ok' || true)
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" = 4 ]
