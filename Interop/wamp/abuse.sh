#!/bin/bash
# What one client of a live router of ours does to others and to its memory, by a client in Python; see ../README.md.
#
#   Interop/wamp/abuse.sh [PART…]     (no argument: all)
#
# HOLDFAST names the tool; without it the release build is made first.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
need_apt python3
HOLDFAST=$(swift_program HOLDFAST holdfast)
ulimit -n 4096
PYTHONDONTWRITEBYTECODE=1 timeout 300 python3 "$ROOT/Interop/wamp/abuse.py" "$HOLDFAST" "$work" "$@"
