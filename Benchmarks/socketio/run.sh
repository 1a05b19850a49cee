#!/bin/bash
# Our Socket.IO client and that of python-socketio at the same server, in turns; see bench.py.
#
#   Benchmarks/socketio/run.sh
#
# ROUNDS=n EVENTS=n               how often, and how many events in each run (5 times 10,000)
# HOLDFAST_BIN=program            with our peer's commands; without it, the release build is made first
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
need_socketio
holdfast=$(swift_program HOLDFAST_BIN HoldfastPeer)
export PYTHONDONTWRITEBYTECODE=1
exec "$PYTHON" "$ROOT/Benchmarks/socketio/bench.py" "$holdfast" "$ROOT/reports"
