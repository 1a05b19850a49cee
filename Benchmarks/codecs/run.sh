#!/bin/bash
# The cost of encoding and decoding: our MessagePack and CBOR, Foundation's JSON, Python's msgpack and orjson; see ../README.md.
#
#   Benchmarks/codecs/run.sh
#
# ROUNDS=n MILLISECONDS=n        how often and how long each figure is measured (7 times 100 ms)
# HOLDFAST_CODEC_BENCH=program   the Swift program; without it, it is built first
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
here=$ROOT/Benchmarks
python=$ROOT/.cache/bench-codecs

if ! cmp -s "$here/codecs/requirements.txt" "$python/requirements.installed"; then
    python3 -c 'import venv, ensurepip' 2> /dev/null || need_apt python3 python3-venv
    say "bench: installing $(pinned "$here/codecs/requirements.txt")"
    python3 -m venv --clear "$python"
    pip_install "$python/bin/python" "$here/codecs/requirements.txt"
    cp "$here/codecs/requirements.txt" "$python/requirements.installed"
fi
program=${HOLDFAST_CODEC_BENCH:-}
if [ -z "$program" ]; then
    need_build
    swift build --package-path "$here" -c release --product CodecBench >&2
    program=$(swift build --package-path "$here" -c release --show-bin-path)/CodecBench
fi
exec "$python/bin/python" "$here/codecs/run.py" "$program"
