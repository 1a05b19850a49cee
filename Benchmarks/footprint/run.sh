#!/bin/bash
# What an app that takes `Holdfast` alone fetches, builds and ships; see run.py.
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"

need_footprint
exec "$PYTHON" "$ROOT/Benchmarks/footprint/run.py" "$@"
