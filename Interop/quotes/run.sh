#!/bin/bash
# The page of `holdfast serve quotes`: its scripts in Node, then the page in headless Chromium with real servers and real faults.
#
#   Interop/quotes/run.sh
#
# HOLDFAST names the tool. Without it the release build is made first. Screenshots go to reports/.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
need_apt nodejs chromium python3
need_python
HOLDFAST=$(swift_program HOLDFAST holdfast)
export TMPDIR=$work
mkdir -p "$ROOT/reports"

tally node "$ROOT/Interop/quotes/units.mjs"
tally "$PYTHON" "$ROOT/Interop/quotes/browser.py" "$HOLDFAST" "$ROOT/reports"
finish
