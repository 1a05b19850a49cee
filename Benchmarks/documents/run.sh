#!/bin/bash
# Our documents beside Yjs and yrs on recorded editing, in turns; see bench.py.
#
#   Benchmarks/documents/run.sh
#
# ROUNDS=n RANDOM_EDITS=n         how often, and how many characters go to random places (3 times, 30,000)
# HOLDFAST_BIN=program            with our peer's commands; without it, the release build is made first
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
need_documents
need_yrs
holdfast=$(swift_program HOLDFAST_BIN HoldfastPeer)
export PYTHONDONTWRITEBYTECODE=1
exec python3 "$ROOT/Benchmarks/documents/bench.py" "$holdfast" "$YRS_PYTHON" "$ROOT/reports"
