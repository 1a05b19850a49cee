#!/usr/bin/env bash
# Compiles the Core modules as iOS 17 and macOS 14 code on Linux; see README.md.
#
#   scripts/apple-check/check.sh [--canary]
#
# --canary adds a mistake to a copy of one file, and expects to see it: API that iOS 17 does not have.
# What is slow, the standard library for two platforms, stays in .build/apple-check (a minute the first time).
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "not checked: this needs Linux on x86_64; on a Mac, build for iOS instead"; exit 0; }
MODULES=(MachineCore WebSocketCore SessionCore) # each after those it imports
STANDARD_LIBRARY=(Swift _Concurrency _StringProcessing SwiftOnoneSupport)
CORE=$PWD/Sources/Core
OUT=$PWD/.build/apple-check
TOOLCHAIN=$(cd "$(dirname "$(readlink -f "$(command -v swiftc)")")/.." && pwd)/lib/swift
# Two runs at once would write the same modules.
mkdir -p "$OUT"
exec 9> "$OUT/lock"
flock 9

if [ "${1:-}" = --canary ]; then
    CORE=$(mktemp -d)
    trap 'rm -rf "$CORE"' EXIT
    cp -r Sources/Core/. "$CORE"
    cat "$PWD/scripts/apple-check/canary.swift" >> "$CORE/SessionCore/Reconnect/Loss.swift"
fi

# The settings of Core targets in Package.swift.
FLAGS=(
    -swift-version 6 -strict-memory-safety -warnings-as-errors -parse-as-library -whole-module-optimization -package-name holdfast
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault
    -enable-upcoming-feature MemberImportVisibility -enable-upcoming-feature NonisolatedNonsendingByDefault
    -enable-upcoming-feature InferIsolatedConformances
)

# check PLATFORM TARGET INTERFACE: compiles every module for one platform; INTERFACE is how its standard library's files are named.
check() {
    local dir=$OUT/$1 target=$2 interface=$3 module library
    local sdk=$dir/sdk modules=$dir/modules
    mkdir -p "$modules" "$dir/resources"
    for library in shims clang; do ln -sfn "$TOOLCHAIN/$library" "$dir/resources/$library"; done
    for library in "${STANDARD_LIBRARY[@]}"; do
        local source=("$TOOLCHAIN/linux/$library.swiftmodule/$(uname -m)"-*.swiftinterface)
        local made=$sdk/usr/lib/swift/$library.swiftmodule/$interface.swiftinterface
        [ "$made" -nt "${source[0]}" ] && [ "$made" -nt scripts/apple-check/interface.py ] && continue
        mkdir -p "$(dirname "$made")"
        python3 scripts/apple-check/interface.py "$target" < "${source[0]}" > "$made"
    done
    for module in "${MODULES[@]}"; do
        # SIL, not -typecheck: isolation and definite initialization are checked there.
        swiftc -emit-sil -o "$dir/check.sil" -emit-module -emit-module-path "$modules/$module.swiftmodule" -module-name "$module" "${FLAGS[@]}" \
            -target "$target" -resource-dir "$dir/resources" -sdk "$sdk" -module-cache-path "$dir/cache" -I "$dir/resources/shims" \
            -I "$modules" -Xfrontend -disable-objc-interop $(find "$CORE/$module" -name '*.swift') 2> >(grep -v SDKSettings >&2) || return 1
    done
}

status=0
check ios x86_64-apple-ios17.0-simulator x86_64-apple-ios-simulator &
ios=$!
check macos x86_64-apple-macosx14.0 x86_64-apple-macos || status=1
wait $ios || status=1
if [ "${1:-}" = --canary ]; then
    if [ $status = 0 ]; then echo "the canary was not seen"; exit 1; else echo "the canary was seen"; exit 0; fi
fi
exit $status
