#!/bin/bash
# Bad input to a live hub, from a peer in Python; see ../README.md.
#
#   Interop/rooms/abuse.sh [CONVERSATIONS]     (no argument: 300)
#
# HOLDFAST names the tool. Without it the release build is made first. SEED repeats the bad frames of a run.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
need_apt python3 protobuf-compiler
need_python
HOLDFAST=$(swift_program HOLDFAST holdfast)
protoc --proto_path="$ROOT/Sources/Runtime/RoomsWire" --descriptor_set_out="$work/descriptors" rooms.proto
# Some hundred connections here, and as many at the hub.
ulimit -n 4096
PYTHONDONTWRITEBYTECODE=1 timeout 900 "$PYTHON" "$ROOT/Interop/rooms/abuse.py" "$HOLDFAST" "$work" "${1:-300}" ${SEED:+"$SEED"}
