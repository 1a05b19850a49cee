#!/usr/bin/env bash
# Compiles the Core modules and the files for Apple platforms as iOS 17 and macOS 14 code on Linux; see README.md.
#
#   scripts/apple-check/check.sh [--canary]
#
# It also finds, in the index of the debug build, uses of the standard library that iOS 17 or macOS 14 lacks.
#
# --canary adds mistakes to a copy, one at a time, and expects each to be found: API that iOS 17 lacks, and a wrong type inside every
# `#if` of the files for Apple platforms, because code inside a false condition is not checked.
# The slow part, the standard library for two platforms, is kept in .build/apple-check (a minute or two the first time).
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "not checked: this needs Linux on x86_64; on a Mac, build for iOS instead"; exit 0; }
STANDARD_LIBRARY=(Swift _Concurrency _StringProcessing SwiftOnoneSupport Observation)
HERE=$PWD/scripts/apple-check
SOURCES=$PWD/Sources
OUT=$PWD/.build/apple-check
TOOLCHAIN=$(cd "$(dirname "$(readlink -f "$(command -v swiftc)")")/.." && pwd)/lib/swift
# Two concurrent runs would write the same modules.
mkdir -p "$OUT"
exec 9> "$OUT/lock"
flock 9

# The settings of Package.swift, with the traits that add code for Apple platforms: for all targets, and for Core.
STRICT=(
    -swift-version 6 -warnings-as-errors -parse-as-library -whole-module-optimization -package-name holdfast
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault
    -enable-upcoming-feature MemberImportVisibility -enable-upcoming-feature NonisolatedNonsendingByDefault
    -enable-upcoming-feature InferIsolatedConformances
    -D SwiftNIO -D HTTP2 -D Rooms
)
PURE=(-strict-memory-safety)

# Each module after those it imports. Modules that need SwiftNIO: only the files without it that others need.
MODULES=(MachineCore WebSocketCore SessionCore CodecCore ProtocolCore RoomCore WebSocketRuntime WebSocketNIO WebSocketApple Holdfast HoldfastRooms HoldfastUI)
files() {
    case $1 in
    *Core) find "$SOURCES/Core/$1" -name '*.swift' ;;
    WebSocketRuntime)
        echo "$SOURCES/Runtime/WebSocketRuntime/TransportError.swift" "$SOURCES/Runtime/WebSocketRuntime/LockedValue.swift"
        find "$SOURCES/Runtime/WebSocketRuntime/Trust" -name '*.swift'
        # Replaces a file that uses stat(2), because a Swift function cannot have the name of a type.
        echo "$HERE/disk.swift"
        ;;
    WebSocketNIO) find "$SOURCES/Runtime/WebSocketNIO/Network" -name '*.swift' ;;
    WebSocketApple) find "$SOURCES/Runtime/WebSocketApple/System" -name '*.swift' ;;
    Holdfast)
        echo "$SOURCES/Client/Holdfast/Network/PathSource.swift" "$SOURCES/Client/Holdfast/Network/NetworkPathMonitor.swift"
        find "$SOURCES/Client/Holdfast/Life" -name '*.swift' ! -name 'LiveSession*'
        find "$SOURCES/Client/Holdfast/Tokens" -name '*.swift' ! -name '*Keeper.swift'
        ;;
    HoldfastRooms)
        echo "$SOURCES/Client/HoldfastRooms/Chat/ChatPresenting.swift" "$SOURCES/Client/HoldfastRooms/Store/StoreProtection.swift"
        ;;
    HoldfastUI)
        find "$SOURCES/Client/HoldfastUI" -name '*.swift' ! -name '*Model.swift' ! -name '*State.swift'
        # The file that SwiftPM generates for a target with resources.
        echo "$HERE/bundle.swift"
        ;;
    esac
}

# platform NAME: sets the options for this platform.
platform() {
    case $1 in
    ios) TARGET=x86_64-apple-ios17.0-simulator INTERFACE=x86_64-apple-ios-simulator KIT=UIKit ;;
    macos) TARGET=x86_64-apple-macosx14.0 INTERFACE=x86_64-apple-macos KIT=AppKit ;;
    esac
    # Each after those it imports.
    STUBS=(Darwin Dispatch Foundation Security Network "$KIT" SwiftUI NIOCore NIOTransportServices)
    DIR=$OUT/$1
    COMMON=(-target "$TARGET" -resource-dir "$DIR/resources" -sdk "$DIR/sdk" -module-cache-path "$DIR/cache" -I "$DIR/resources/shims"
        -I "$DIR/stubs" -I "$DIR/modules" -Xfrontend -disable-objc-interop)
}

# compile MODULE DIRECTORY: writes the module there, and errors to standard error.
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

# newer STORE ROOT: uses of the standard library below ROOT that iOS 17 or macOS 14 lacks, from an index.
newer() { python3 "$HERE/newer.py" "$OUT/symbols" "$1" "$2/" "$TOOLCHAIN/../libIndexStore.so"; }

# The whole package, with the users of SwiftNIO, from the index of the debug build.
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

# Code that imports the whole client, as an app does: compiled against the Linux modules of the debug build, with SwiftUI and
# Security from stubs/. The views of HoldfastUI come first, because Linux's module has none.
APP=Examples/HoldfastChat.swiftpm
prepare_apps() {
    local build=$PWD/.build/debug maps=() map name triple
    APPS=$OUT/apps
    triple=$(swiftc -print-target-info | sed -nE 's/.*"triple": "([^"]*)".*/\1/p' | head -n 1)
    # SwiftPM uses the directory's name.
    name=$(sed -nE '/"-module-name","HoldfastUI"/s/.*"-package-name","([^"]*)".*/\1/p' .build/debug.yaml | head -n 1)
    for map in "$build"/*.build/module.modulemap .build/checkouts/*/Sources/*/include/module.modulemap \
        Sources/Runtime/*/module.modulemap; do
        [ ! -e "$map" ] || maps+=(-Xcc "-fmodule-map-file=$map")
    done
    rm -rf "$APPS" && mkdir -p "$APPS"
    AS_APP=(-target "$triple" -parse-as-library -swift-version 6 -module-cache-path "$build/ModuleCache" -I "$APPS" -I "$build/Modules" "${maps[@]}")
    # MODULE FILES…: compiles a module for later ones.
    emit() { swiftc "${AS_APP[@]}" -emit-module -emit-module-path "$APPS/$1.swiftmodule" -module-name "$1" "${@:2}"; }
    emit Security -suppress-warnings -enable-library-evolution "$HERE/stubs/Security.swift" || return 1
    emit SwiftUI -suppress-warnings -enable-library-evolution "$HERE/stubs/SwiftUI.swift" || return 1
    emit HoldfastUI "${STRICT[@]}" -package-name "$name" $(find "$SOURCES/Client/HoldfastUI" -name '*.swift') "$HERE/bundle.swift" || return 1
    emit AppleProductTypes -I "$TOOLCHAIN/pm/ManifestAPI" -package-name PackageDescription "$HERE/AppleProductTypes.swift" || return 1
    # An app sees it with `import Holdfast`.
    emit HoldfastKeychain -Xfrontend -testable-import-module -Xfrontend Holdfast "$SOURCES/Client/Holdfast/Tokens/KeychainTokenStore.swift"
}

# app FILES…: checks them, with isolation and definite initialization.
app() {
    swiftc "${AS_APP[@]}" -warnings-as-errors -whole-module-optimization -emit-sil -o /dev/null -module-name App \
        -Xfrontend -import-module -Xfrontend HoldfastKeychain "$@"
}

# manifest FILE: checks the manifest of an app as far as the stub of Apple's part allows.
manifest() {
    swiftc -typecheck -swift-version 6 -package-description-version 6.0 -I "$APPS" -I "$TOOLCHAIN/pm/ManifestAPI" -module-cache-path "$APPS/cache" "$1"
}

check_apps() {
    local status=0
    prepare_apps || return 1
    app "$APP"/[!P]*.swift || status=1
    manifest "$APP/Package.swift" || status=1
    # Its last lines are statements, and are built for Linux.
    sed -E 's/^try await .*//; s/^await .*//' Snippets/SwiftUIApp.swift > "$APPS/snippet.swift"
    app "$APPS/snippet.swift" || status=1
    return $status
}

# sees MODULE PLATFORM…: whether compiling it fails for one of them.
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
    file=Core/SessionCore/Reconnect/LossTable.swift line=end
    cat "$HERE/canary.swift" >> "$SOURCES/$file"
    note sees SessionCore ios
    file=canary.swift line=end
    mkdir "$copy/newer"
    { echo 'struct Loss {}'; cat "$HERE/canary.swift"; } > "$copy/newer/canary.swift"
    (cd "$copy/newer" && swiftc -parse-as-library -c -index-store-path store canary.swift 2> /dev/null)
    note finds "$copy/newer/store" "$copy/newer"
    for file in "$APP"/[!P]*.swift; do
        line=end
        rm -rf "$copy/app" && cp -r "$APP" "$copy/app"
        echo 'private let canary: Int = ""' >> "$copy/app/$(basename "$file")"
        wrong() { if app "$copy"/app/[!P]*.swift 2> /dev/null; then return 1; fi; }
        note wrong
    done
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
            */HoldfastRooms/*) note sees HoldfastRooms ios macos ;;
            */HoldfastUI/*) note sees HoldfastUI ios macos ;;
            esac
        done < <(grep -n '^#if' "Sources/$file")
    done < <(for module in WebSocketRuntime WebSocketNIO WebSocketApple Holdfast HoldfastRooms HoldfastUI; do SOURCES=Sources files "$module"; done | tr ' ' '\n' | xargs grep -l '^#if')
    echo "$seen of $((seen + missed)) canaries were seen"
    [ $missed = 0 ]
}

status=0
(check ios) &
ios=$!
(check macos) || status=1
wait $ios || status=1
check_newer || status=1
check_apps || status=1
if [ "${1:-}" = --canary ]; then
    [ $status = 0 ] || { echo "without a mistake it fails already"; exit 1; }
    canaries
    exit
fi
exit $status
