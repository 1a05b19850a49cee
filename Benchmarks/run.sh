#!/bin/bash
# The benchmark: Holdfast against its peers, as server and as client; see README.md.
#
#   Benchmarks/run.sh              all rows (about a quarter of an hour)
#   Benchmarks/run.sh --list       the names of the rows
#   Benchmarks/run.sh --draw       the chart of the latest results, again
#
# ROW=text                       only the rows with that text in their name
# ROUNDS=n SECONDS_EACH=s        how often and how long each program is measured (5 times 0.5 s)
# CHART=docs                     also renew docs/performance.png and .svg
# HOLDFAST_BENCH_BIN_DIR=folder  the Swift programs; without it, they are built first
set -euo pipefail
# shellcheck source=../scripts/setup.sh
source "$(dirname "$0")/../scripts/setup.sh"
here=$ROOT/Benchmarks

case ${1:-} in
    --list | --draw) exec "$PYTHON" "$here/run.py" "$@" ;;
esac

need_bench
"$here/load/build.sh"
# A peer that is not available is a failure in the table, and the others are still measured.
peers=(beast websocketpp libwebsockets go node python)
[ -n "${HOLDFAST_BENCH_BIN_DIR:-}" ] || peers+=(swift)
"$here/peers/build.sh" "${peers[@]}" || say "some peers could not be built"
exec "$PYTHON" "$here/run.py" "$@"
