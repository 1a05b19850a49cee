#!/bin/bash
# Tests the client without the trait SwiftNIO, and builds every library with only its own trait, as an app may use it.
#
#   scripts/traits.sh [share]     share: only the tests without SwiftNIO
#
# In a copy, because SwiftPM would overwrite the package's own Package.resolved.
set -euo pipefail
# shellcheck source=setup.sh
source "$(dirname "$0")/setup.sh"

need_build
copy=$ROOT/.build/traits
cd "$ROOT"
[ -e Package.resolved ] || { need_apt git python3 && scripts/pins.py resolve; }
mkdir -p "$copy"
rm -rf "$copy"/[A-Z]*
git ls-files -z --cached --others --exclude-standard Package.swift Sources Tests Interop/Peer Benchmarks Fuzz/Targets |
    while IFS= read -rd '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done | xargs -0 cp -a --parents -t "$copy"
cp Package.resolved "$copy"
cd "$copy"

HOLDFAST_WITHOUT_NIO=1 swift test --disable-default-traits --disable-xctest --no-parallel
[ "${1:-}" != share ] || exit 0

# build TRAITS LIBRARY…: builds each of them with only these traits.
build() {
    local library
    for library in "${@:2}"; do
        say "traits: $library with ${1:-no trait}"
        swift build --scratch-path .build-each --disable-default-traits ${1:+--traits "$1"} --target "$library"
    done
}
build "" HoldfastCodecs HoldfastGraphQL HoldfastSocketIO HoldfastUI HoldfastTesting
build Protobuf HoldfastProtobuf
build Quotes HoldfastQuotes
build Rooms HoldfastRooms HoldfastUI
build WAMP HoldfastWAMP
build SwiftNIO HoldfastUI HoldfastTesting
build HTTP2 Holdfast
build Server HoldfastServer
build Router HoldfastRouter
build Hub HoldfastHub
