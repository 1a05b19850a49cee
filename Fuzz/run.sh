#!/bin/bash
# Fuzzes with libFuzzer and AddressSanitizer, on Linux with a Swift toolchain from swift.org.
#
#   Fuzz/run.sh [seconds per target] [target…]     60 seconds and all targets unless given
#   Fuzz/run.sh --reproduce target file…           runs a target on these inputs, with a backtrace
#
# The learned corpus is kept in .build/fuzz/corpus for the next run. Put an input that violated an invariant into Fuzz/Corpus
# after the correction: ordinary tests replay it.
# Builds only the fuzzed modules, because the whole package would take minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

build=.build/fuzz
fuzzer=$PWD/$build/fuzzer
export ASAN_OPTIONS=detect_leaks=1:quarantine_size_mb=32:${ASAN_OPTIONS:-}
# libFuzzer reports crashes itself. Swift's backtraces would read all memory, which AddressSanitizer reports as an error.
export SWIFT_BACKTRACE=enable=no
# For the function names in libFuzzer's backtraces.
PATH=$PATH:$(dirname "$(readlink -f "$(command -v swiftc)")")

compile() {  # module, folder
    local module=$1 folder=$2 sources=() file
    # Modules that build on the client are not fuzzed, because they need all of NIO.
    while IFS= read -r file; do sources+=("$file"); done < <(find -L "$folder" -name '*.swift' -exec grep -L 'import Holdfast$' {} + | sort)
    swiftc -O -wmo -g -parse-as-library -swift-version 6 -sanitize=fuzzer,address \
        -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault \
        -enable-upcoming-feature MemberImportVisibility -enable-upcoming-feature NonisolatedNonsendingByDefault \
        -enable-upcoming-feature InferIsolatedConformances \
        -package-name holdfast -D Rooms -module-name "$module" -I "$build" -I Sources/Runtime/CZlib \
        -emit-module -emit-module-path "$build/$module.swiftmodule" -c "${sources[@]}" -o "$build/$module.o"
}

# Our modules are compiled with coverage. Their dependencies have only AddressSanitizer, and are compiled once.
protobuf() {
    local checkout=.build/checkouts/swift-protobuf/Sources/SwiftProtobuf
    [[ -d $checkout ]] || swift package resolve
    if [[ $build/protobuf/SwiftProtobuf.o -nt $checkout ]]; then return; fi
    mkdir -p "$build/protobuf"
    swiftc -O -wmo -parse-as-library -swift-version 5 -sanitize=address -suppress-warnings -package-name protobuf -module-name SwiftProtobuf \
        -emit-module -emit-module-path "$build/SwiftProtobuf.swiftmodule" -c "$checkout"/*.swift -o "$build/protobuf/SwiftProtobuf.o"
}

build() {
    local runtime=Sources/Runtime/WebSocketRuntime/Deflate fingerprint
    fingerprint=$(find -L Sources/Core Sources/Runtime/RoomsWire Sources/Client/HoldfastCodecs Sources/Runtime/CZlib "$runtime" Tests/WAMPAudit Fuzz/Targets Fuzz/Driver Fuzz/run.sh -type f -print0 |
        sort -z | xargs -0 cat | cksum)
    if [[ -x $fuzzer && $(cat "$build/fingerprint" 2>/dev/null) == "$fingerprint" ]]; then return; fi
    echo "building the fuzzer"
    mkdir -p "$build"
    rm -f "$build"/*.o
    compile MachineCore Sources/Core/MachineCore
    compile WebSocketCore Sources/Core/WebSocketCore
    compile WebSocketRuntime "$runtime"
    compile ProtocolCore Sources/Core/ProtocolCore
    compile CodecCore Sources/Core/CodecCore
    compile RoomCore Sources/Core/RoomCore
    compile WAMPCore Sources/Core/WAMPCore
    compile GraphQLCore Sources/Core/GraphQLCore
    compile SocketIOCore Sources/Core/SocketIOCore
    compile DocumentCore Sources/Core/DocumentCore
    compile WAMPAudit Tests/WAMPAudit
    protobuf
    compile RoomsWire Sources/Runtime/RoomsWire
    compile HoldfastCodecs Sources/Client/HoldfastCodecs
    compile FuzzTargets Fuzz/Targets
    compile FuzzDriver Fuzz/Driver
    swiftc -use-ld=lld -sanitize=fuzzer,address "$build"/*.o "$build/protobuf/SwiftProtobuf.o" -lz -o "$fuzzer"
    echo "$fingerprint" > "$build/fingerprint"
}

targets() { if (($# > 0)); then printf '%s\n' "$@"; else ls Fuzz/Corpus; fi }

reproduce() {  # target, files
    local target=$1
    shift
    HOLDFAST_FUZZ_TARGET=$target "$fuzzer" -timeout=5 "$@"
}

fuzz() {  # seconds, target
    local seconds=$1 target=$2
    local corpus=$build/corpus/$target findings=$build/findings/$target log=$build/$target.log
    rm -rf "$findings"
    mkdir -p "$corpus" "$findings"
    if HOLDFAST_FUZZ_TARGET=$target "$fuzzer" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=512 -timeout=5 \
        -print_final_stats=1 -artifact_prefix="$findings/" "$corpus" "Fuzz/Corpus/$target" > "$log" 2>&1; then
        echo "ok      $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s," \
            "$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1)"
        return 0
    fi
    echo "FAILED  $target"
    grep -E 'Fatal error|ERROR|No such file|SUMMARY|DEADLYSIGNAL|==.*Sanitizer' "$log" | head -n 5 | sed 's/^/        /'
    for file in "$findings"/*; do
        [[ -f $file ]] && echo "        Fuzz/run.sh --reproduce $target $file"
    done
    echo "        all of it: $log"
    return 1
}

if [[ ${1:-} == --reproduce ]]; then
    shift
    build
    reproduce "$@"
    exit
fi

seconds=60
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
    seconds=$1
    shift
fi
build
passed=0 failed=0
for target in $(targets "$@"); do
    if fuzz "$seconds" "$target"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
((failed == 0))
