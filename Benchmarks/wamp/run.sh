#!/bin/bash
# Our WAMP router and client against Crossbar and autobahn-python, each with each, alternately; see bench.py.
#
#   Benchmarks/wamp/run.sh
#
# ROUNDS=n SECONDS_EACH=s         how often and how long each work is done (3 times 3 s)
# HOLDFAST_BIN=program            with our peer's commands; without it, the release build is made first
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
need_wamp
holdfast=$(swift_program HOLDFAST_BIN HoldfastPeer)
export PYTHONDONTWRITEBYTECODE=1 CROSSBAR=$CROSSBAR_VENV/bin/crossbar PATH=$CROSSBAR_VENV/bin:$PATH
exec "$CROSSBAR_VENV/bin/python" "$ROOT/Benchmarks/wamp/bench.py" "$holdfast" "$ROOT/reports"
