#!/usr/bin/env bash
# Generates the Swift code of every .proto file with Debian's protoc and the plugin of the swift-protobuf in pins.json.
# Needed only after a change of a .proto file or of swift-protobuf, because the result is part of the sources.
#
#   scripts/protobuf.sh     PROTOC_GEN_SWIFT names a plugin that is already built
set -euo pipefail
source "$(dirname "$0")/setup.sh"
cd "$ROOT"
need_apt protobuf-compiler

plugin=${PROTOC_GEN_SWIFT:-$ROOT/.cache/protobuf/debug/protoc-gen-swift}
if [ -z "${PROTOC_GEN_SWIFT:-}" ]; then
    scripts/pins.py resolve
    swift build --package-path .build/checkouts/swift-protobuf --scratch-path .cache/protobuf --product protoc-gen-swift
fi
# Only the names of the sources, so that a build within .build or .cache is not read.
while IFS= read -r file; do
    folder=$(dirname "$file")
    protoc --plugin="protoc-gen-swift=$plugin" --proto_path="$folder" --swift_out="$folder" \
        --swift_opt=Visibility=Internal --swift_opt=UseAccessLevelOnImports=true "$(basename "$file")"
    echo "made ${file%.proto}.pb.swift"
done < <(find Sources Tests Benchmarks -name '*.proto' | sort)
