#!/bin/bash
# Attacks of one client on others at our live router, and on its memory, with a client in Python; see ../README.md.
#
#   Interop/wamp/abuse.sh [PART…]     (no argument: all)
#
# HOLDFAST names the tool. Without it the release build is made first.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
need_apt python3
HOLDFAST=$(swift_program HOLDFAST holdfast)
ulimit -n 4096
PYTHONDONTWRITEBYTECODE=1 timeout 600 python3 "$ROOT/Interop/wamp/abuse.py" "$HOLDFAST" "$work" "$@"
