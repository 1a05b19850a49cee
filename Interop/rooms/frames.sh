#!/bin/bash
# The frames of rooms against Python's `json` and `protobuf`, in both directions; see frames.py.
#
#   Interop/rooms/frames.sh [SEED]
#
# HOLDFAST_BIN names the program with our peer's commands. Without it the release build is made first.
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
need_apt protobuf-compiler
need_python
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
protoc --proto_path="$ROOT/Sources/Runtime/RoomsWire" --descriptor_set_out="$work/rooms" rooms.proto
timeout 600 "$PYTHON" "$ROOT/Interop/rooms/frames.py" "$(swift_program HOLDFAST_BIN HoldfastPeer)" "$work/rooms" "${1:-2026}"
