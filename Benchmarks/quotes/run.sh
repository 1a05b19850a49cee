#!/bin/bash
# One feed of quotes read by our client, Node and Python: the cost of a tick, and the view of a slow consumer; see ../README.md.
#
#   Benchmarks/quotes/run.sh
#
# RATE=n                          ticks per second (20000)
# ROUNDS=n SECONDS_EACH=s         how often and how long each client reads (3 times 3 s)
# SLOW_SECONDS=s                  how long the slow consumer reads (10 s)
# HOLDFAST=program                our tool, and HOLDFAST_BIN our peer; without them, the release builds are made first
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
need_apt nodejs node-ws util-linux
need_python
HOLDFAST=$(swift_program HOLDFAST holdfast)
PEER=$(swift_program HOLDFAST_BIN HoldfastPeer)
exec "$PYTHON" "$ROOT/Benchmarks/quotes/bench.py" "$HOLDFAST" "$PEER"
