#!/bin/bash
# Builds the C programs of this folder into .cache/bench if their sources are newer.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=$here/../../.cache/bench

# x86-64-v2 covers every x86 machine of the last ten years, and distributions build for it. So the figures do not
# depend on the build machine, and packaged peers have the same target. Peers in C++ get the same.
default=(-O3)
[ "$(uname -m)" != x86_64 ] || default+=(-march=x86-64-v2)
read -ra flags <<< "${BENCH_CFLAGS:-${default[*]}}"

mkdir -p "$target"
for program in load idle accept echo server client zlib; do
    newer=$(find "$here" -name "$program.c" -newer "$target/$program" -o -name '*.[h]' -newer "$target/$program" 2> /dev/null || true)
    [ -n "$newer" ] || [ ! -x "$target/$program" ] || continue
    cc "${flags[@]}" -Wall -Wextra -D_GNU_SOURCE -o "$target/$program.new" "$here/$program.c" -lssl -lcrypto -lz
    mv "$target/$program.new" "$target/$program"
done
