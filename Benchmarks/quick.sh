#!/bin/bash
# Counts the instructions and allocations of the hot path, and compares them with thresholds.json; see README.md.
#
#   Benchmarks/quick.sh               fails if a figure is more than 5 % above its threshold
#   Benchmarks/quick.sh --update      makes the current figures the thresholds
#
# HOLDFAST_PROBE_BIN names the counted program. Without it a release build is made first.
set -euo pipefail
# shellcheck source=../scripts/setup.sh
source "$(dirname "$0")/../scripts/setup.sh"

need_quick
probe=$(swift_program HOLDFAST_PROBE_BIN HoldfastProbe .build/probe)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# valgrind 3.19 does not understand Swift 6.3's debugging information, and needs none.
objcopy --strip-debug "$probe" "$work/probe"
python3 "$ROOT/Benchmarks/quick.py" "$work/probe" "$@"
