#!/bin/bash
# Our GraphQL client and the Python client gql at the same server, in turns; see bench.py.
#
#   Benchmarks/graphql/run.sh
#
# ROUNDS=n EVENTS=n               how often, and how many events in each run (5 times 20,000)
# HOLDFAST_BIN=program            with our peer's commands; without it, the release build is made first
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
need_graphql
holdfast=$(swift_program HOLDFAST_BIN HoldfastPeer)
export PYTHONDONTWRITEBYTECODE=1
exec "$GRAPHQL_PYTHON" "$ROOT/Benchmarks/graphql/bench.py" "$holdfast" "$ROOT/reports"
