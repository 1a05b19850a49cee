#!/bin/bash
# The benchmark: Holdfast beside Node `ws`, Python `websockets` and bare SwiftNIO, in one run; see README.md.
#
#   Benchmarks/run.sh [servers|clients]     (no argument: both; about two minutes)
#
# ROUNDS=n SECONDS_EACH=s: how often and how long each workload is measured (3 times 0.5 s).
# HOLDFAST_BIN and NIOECHO_BIN name the programs to measure; without them release builds are made first.
set -euo pipefail
# shellcheck source=../scripts/setup.sh
source "$(dirname "$0")/../scripts/setup.sh"
need_bench
HOLDFAST_BIN=$(swift_program HOLDFAST_BIN HoldfastPeer)
NIOECHO_BIN=$(swift_program NIOECHO_BIN NIOEcho)
export HOLDFAST_BIN NIOECHO_BIN

mkdir -p "$ROOT/.cache/bench"
for program in load sink; do
    source=$ROOT/Benchmarks/load/$program.c
    binary=$ROOT/.cache/bench/$program
    [ "$binary" -nt "$source" ] && [ "$binary" -nt "$ROOT/Benchmarks/load/wire.h" ] ||
        cc -O3 -Wall -Wextra -D_GNU_SOURCE -o "$binary" "$source" -lcrypto
done
exec python3 "$ROOT/Benchmarks/run.py" "$@"
