#!/bin/bash
# The page of `holdfast serve hub`: its client in Node, then the page in headless Chromium, with a client in Swift and one in Python
# beside it, before a real hub and real faults.
#
#   Interop/rooms/browser.sh [PART…]
#
# HOLDFAST names the tool; without it the release build is made first. Screenshots go to reports/.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
# The font for what people react with.
need_apt nodejs chromium python3 fonts-noto-color-emoji
need_python
HOLDFAST=$(swift_program HOLDFAST holdfast)
export TMPDIR=$work
mkdir -p "$ROOT/reports"

# tally COMMAND…: passes on what a suite prints, and counts its checks.
tally() {
    local status=0
    PYTHONDONTWRITEBYTECODE=1 timeout 1200 "$@" 2>&1 | tee "$work/output" | grep -v ' passed, ' || true
    status=${PIPESTATUS[0]}
    passed=$((passed + $(grep -c '^ok' "$work/output" || true)))
    failed=$((failed + $(grep -c '^not ok' "$work/output" || true)))
    if [ "$status" != 0 ] && ! grep -q '^not ok' "$work/output"; then
        echo "not ok ${*:1:2}: ended with status $status"
        failed=$((failed + 1))
    fi
}

if [ $# = 0 ]; then tally node "$ROOT/Interop/rooms/units.mjs"; fi
tally "$PYTHON" "$ROOT/Interop/rooms/browser.py" "$HOLDFAST" "$ROOT/reports" "$@"
finish
