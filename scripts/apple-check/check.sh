#!/usr/bin/env bash
# Compiles the Core modules and the files for Apple platforms as iOS 17 and macOS 14 code on Linux; see README.md.
#
#   scripts/apple-check/check.sh [--canary]
#
# And finds, in what the debug build has noted of all the others, uses of the standard library that iOS 17 or macOS 14 does not have.
#
# --canary adds mistakes to a copy, one at a time, and expects to see each: API that iOS 17 does not have, and a wrong type inside every
# `#if` of the files for Apple platforms, for what is inside a condition that never holds is not checked at all.
# What is slow, the standard library for two platforms, stays in .build/apple-check (a minute or two the first time).
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "not checked: this needs Linux on x86_64; on a Mac, build for iOS instead"; exit 0; }
STANDARD_LIBRARY=(Swift _Concurrency _StringProcessing SwiftOnoneSupport Observation)
HERE=$PWD/scripts/apple-check
SOURCES=$PWD/Sources
OUT=$PWD/.build/apple-check
TOOLCHAIN=$(cd "$(dirname "$(readlink -f "$(command -v swiftc)")")/.." && pwd)/lib/swift
# Two runs at once would write the same modules.
mkdir -p "$OUT"
exec 9> "$OUT/lock"
flock 9

# The settings of Package.swift: of all targets, of Core.
STRICT=(
    -swift-version 6 -warnings-as-errors -parse-as-library -whole-module-optimization -package-name holdfast
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault
    -enable-upcoming-feature MemberImportVisibility -enable-upcoming-feature NonisolatedNonsendingByDefault
    -enable-upcoming-feature InferIsolatedConformances
)
PURE=(-strict-memory-safety)

# Each module after those it imports. Of those that need SwiftNIO: the files that do not, as far as the others ask for them.
MODULES=(MachineCore WebSocketCore SessionCore CodecCore RoomCore WebSocketRuntime WebSocketNIO WebSocketApple Holdfast HoldfastRooms HoldfastUI)
files() {
    case $1 in
    *Core) find "$SOURCES/Core/$1" -name '*.swift' ;;
    WebSocketRuntime) find "$SOURCES/Runtime/WebSocketRuntime/TransportError.swift" "$SOURCES/Runtime/WebSocketRuntime/Trust" -name '*.swift' ;;
    WebSocketNIO) find "$SOURCES/Runtime/WebSocketNIO/Network" -name '*.swift' ;;
    WebSocketApple) find "$SOURCES/Runtime/WebSocketApple/System" -name '*.swift' ;;
    Holdfast)
        echo "$SOURCES/Client/Holdfast/Network/PathSource.swift" "$SOURCES/Client/Holdfast/Network/NetworkPathMonitor.swift"
        find "$SOURCES/Client/Holdfast/Life" -name '*.swift' ! -name 'LiveSession*'
        ;;
    HoldfastRooms) echo "$SOURCES/Client/HoldfastRooms/Chat/ChatMessage.swift" "$SOURCES/Client/HoldfastRooms/Chat/ChatPresenting.swift" ;;
    HoldfastUI) find "$SOURCES/Client/HoldfastUI" -name '*.swift' ! -name '*Model.swift' ! -name '*State.swift' ;;
    esac
}

# platform NAME: sets what compiling for it needs.
platform() {
    case $1 in
    ios) TARGET=x86_64-apple-ios17.0-simulator INTERFACE=x86_64-apple-ios-simulator KIT=UIKit ;;
    macos) TARGET=x86_64-apple-macosx14.0 INTERFACE=x86_64-apple-macos KIT=AppKit ;;
    esac
    # Each after those it imports.
    STUBS=(Darwin Dispatch Foundation Security Network "$KIT" SwiftUI NIOConcurrencyHelpers NIOCore NIOTransportServices)
    DIR=$OUT/$1
    COMMON=(-target "$TARGET" -resource-dir "$DIR/resources" -sdk "$DIR/sdk" -module-cache-path "$DIR/cache" -I "$DIR/resources/shims"
        -I "$DIR/stubs" -I "$DIR/modules" -Xfrontend -disable-objc-interop)
}

# compile MODULE DIRECTORY: its module goes there, what is wrong to standard error.
compile() {
    local settings=("${STRICT[@]}")
    [[ $1 != *Core ]] || settings+=("${PURE[@]}")
    # SIL, not -typecheck: isolation and definite initialization are checked there.
    swiftc -emit-sil -o "$2/$1.sil" -emit-module -emit-module-path "$2/$1.swiftmodule" -module-name "$1" "${settings[@]}" "${COMMON[@]}" \
        $(files "$1") 2> >(grep -v SDKSettings >&2)
}

# prepare PLATFORM: the standard library and the stubs of Apple's frameworks.
prepare() {
    local library stub
    platform "$1"
    mkdir -p "$DIR/modules" "$DIR/stubs" "$DIR/resources" "$DIR/canary"
    for library in shims clang; do ln -sfn "$TOOLCHAIN/$library" "$DIR/resources/$library"; done
    for library in "${STANDARD_LIBRARY[@]}"; do
        local source=("$TOOLCHAIN/linux/$library.swiftmodule/$(uname -m)"-*.swiftinterface)
        local made=$DIR/sdk/usr/lib/swift/$library.swiftmodule/$INTERFACE.swiftinterface
        [ "$made" -nt "${source[0]}" ] && [ "$made" -nt "$HERE/interface.py" ] && continue
        mkdir -p "$(dirname "$made")"
        python3 "$HERE/interface.py" "$TARGET" < "${source[0]}" > "$made"
    done
    for stub in "${STUBS[@]}"; do
        local made=$DIR/stubs/$stub.swiftmodule
        [ -z "$(find "$HERE/stubs" -newer "$made" 2>&1)" ] && continue
        swiftc -emit-module -enable-library-evolution -suppress-warnings -swift-version 6 -parse-as-library -module-name "$stub" \
            "${COMMON[@]}" -emit-module-path "$made" "$HERE/stubs/$stub.swift" 2> >(grep -v SDKSettings >&2)
    done
}

check() {
    local module
    prepare "$1"
    for module in "${MODULES[@]}"; do compile "$module" "$DIR/modules" || return 1; done
}

# newer STORE ROOT: uses of the standard library below ROOT that iOS 17 or macOS 14 does not have, as an index tells them.
newer() { python3 "$HERE/newer.py" "$OUT/symbols" "$1" "$2/" "$TOOLCHAIN/../libIndexStore.so"; }

# The whole package, SwiftNIO's users among it, as the debug build has noted it.
check_newer() {
    local library
    mkdir -p "$OUT/symbols"
    for library in "${STANDARD_LIBRARY[@]}" Synchronization; do
        [ -n "$(find "$OUT/symbols" -name "$library*" -newer "$TOOLCHAIN/linux/$library.swiftmodule")" ] && continue
        swift-symbolgraph-extract -module-name "$library" -target "$(uname -m)-unknown-linux-gnu" -minimum-access-level public \
            -skip-synthesized-members -output-dir "$OUT/symbols"
    done
    newer "$PWD/.build/debug/index/store" "$PWD"
}

# sees MODULE PLATFORM…: whether compiling it for one of them fails.
sees() {
    local module=$1 name
    shift
    for name in "$@"; do
        platform "$name"
        if ! compile "$module" "$DIR/canary" 2> /dev/null; then return 0; fi
    done
    return 1
}

canaries() {
    local copy file line seen=0 missed=0
    copy=$(mktemp -d)
    trap "rm -rf '$copy'" EXIT
    finds() { if newer "$@" > /dev/null; then return 1; fi; }
    note() { if "$@"; then seen=$((seen + 1)); else echo "not seen: $file:$line"; missed=$((missed + 1)); fi; }
    restore() { rm -rf "$copy/Sources" && mkdir "$copy/Sources" && cp -r Sources/Core Sources/Client Sources/Runtime "$copy/Sources"; }
    SOURCES=$copy/Sources
    restore
    file=Core/SessionCore/Reconnect/Loss.swift line=end
    cat "$HERE/canary.swift" >> "$SOURCES/$file"
    note sees SessionCore ios
    file=canary.swift line=end
    mkdir "$copy/newer"
    { echo 'struct Loss {}'; cat "$HERE/canary.swift"; } > "$copy/newer/canary.swift"
    (cd "$copy/newer" && swiftc -parse-as-library -c -index-store-path store canary.swift 2> /dev/null)
    note finds "$copy/newer/store" "$copy/newer"
    while read -r file; do
        file=${file#Sources/}
        while IFS=: read -r line _; do
            restore
            sed -i "${line}a private let canary: Int = \"\"" "$SOURCES/$file"
            case $file in
            */WebSocketRuntime/*) note sees WebSocketRuntime ios macos ;;
            */WebSocketNIO/*) note sees WebSocketNIO ios macos ;;
            */WebSocketApple/*) note sees WebSocketApple ios macos ;;
            */Holdfast/*) note sees Holdfast ios macos ;;
            */HoldfastUI/*) note sees HoldfastUI ios macos ;;
            esac
        done < <(grep -n '^#if' "Sources/$file")
    done < <(for module in WebSocketRuntime WebSocketNIO WebSocketApple Holdfast HoldfastUI; do SOURCES=Sources files "$module"; done | tr ' ' '\n' | xargs grep -l '^#if')
    echo "$seen of $((seen + missed)) canaries were seen"
    [ $missed = 0 ]
}

status=0
(check ios) &
ios=$!
(check macos) || status=1
wait $ios || status=1
check_newer || status=1
if [ "${1:-}" = --canary ]; then
    [ $status = 0 ] || { echo "without a mistake it fails already"; exit 1; }
    canaries
    exit
fi
exit $status
