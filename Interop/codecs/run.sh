#!/bin/bash
# MessagePack, CBOR and JSON against Python's `msgpack`, `cbor2` and `json`, in both directions; see codecs.py.
#
#   Interop/codecs/run.sh [SEED]
#
# HOLDFAST_BIN names the program with our peer's commands. Without it the release build is made first.
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
need_python
export PYTHONDONTWRITEBYTECODE=1
exec timeout 900 "$PYTHON" "$ROOT/Interop/codecs/codecs.py" "$(swift_program HOLDFAST_BIN HoldfastPeer)" "${1:-2026}"
