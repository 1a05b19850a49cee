#!/bin/bash
# The page of `holdfast serve hub`: its client in Node, then the page in headless Chromium with a real hub and real faults.
# A client in Swift and one in Python join the same rooms.
#
#   Interop/rooms/browser.sh [PART…]
#
# HOLDFAST names the tool. Without it the release build is made first. Screenshots go to reports/.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
# The font for reactions.
need_apt nodejs chromium python3 fonts-noto-color-emoji
need_python
HOLDFAST=$(swift_program HOLDFAST holdfast)
export TMPDIR=$work
mkdir -p "$ROOT/reports"

if [ $# = 0 ]; then
    tally node "$ROOT/Interop/rooms/units.mjs"
    tally node "$ROOT/Interop/rooms/mutants.mjs"
fi
tally "$PYTHON" "$ROOT/Interop/rooms/browser.py" "$HOLDFAST" "$ROOT/reports" "$@"
finish
