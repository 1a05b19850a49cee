#!/usr/bin/env bash
# Makes the Swift of every .proto file anew, with Debian's protoc and the plugin of the swift-protobuf that pins.json names.
# Needed only after a change of a .proto file or of swift-protobuf: what it makes is part of the sources.
#
#   scripts/protobuf.sh     PROTOC_GEN_SWIFT names a plugin that is built already
set -euo pipefail
source "$(dirname "$0")/setup.sh"
cd "$ROOT"
need_apt protobuf-compiler

plugin=${PROTOC_GEN_SWIFT:-$ROOT/.cache/protobuf/debug/protoc-gen-swift}
if [ -z "${PROTOC_GEN_SWIFT:-}" ]; then
    scripts/pins.py resolve
    swift build --package-path .build/checkouts/swift-protobuf --scratch-path .cache/protobuf --product protoc-gen-swift
fi
# The names of the sources only, so that a build within .build or .cache is not read.
while IFS= read -r file; do
    folder=$(dirname "$file")
    protoc --plugin="protoc-gen-swift=$plugin" --proto_path="$folder" --swift_out="$folder" \
        --swift_opt=Visibility=Internal --swift_opt=UseAccessLevelOnImports=true "$(basename "$file")"
    echo "made ${file%.proto}.pb.swift"
done < <(find Sources Tests Benchmarks -name '*.proto' | sort)
