#!/usr/bin/env bash
# Puts each bug into a copy of a Core module, or of the hub's store, and runs its tests, which must detect it.
#
#   scripts/mutants/run.sh session|stream|protocol|graphql|socketio|documents|wamp|hub|store [TEXT]     only bugs with TEXT in their line
#
# The part's list.txt has one bug per line: FILE|SED SCRIPT. A script that changes nothing, or whose result does not compile, counts as
# failed, and the list must be updated.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
case ${1:-} in
session) core=SessionCore modules=(MachineCore WebSocketCore) runs=100 ;;
stream) core=StreamCore modules=(MachineCore) runs=50 ;;
protocol) core=ProtocolCore modules=(MachineCore WebSocketCore) runs=50 ;;
graphql) core=GraphQLCore modules=(MachineCore CodecCore WebSocketCore ProtocolCore) runs=50 ;;
socketio) core=SocketIOCore modules=(MachineCore CodecCore WebSocketCore ProtocolCore) runs=50 ;;
documents) core=DocumentCore modules=(MachineCore CodecCore WebSocketCore ProtocolCore) runs=1 ;;
wamp) core=WAMPCore modules=(MachineCore CodecCore WebSocketCore ProtocolCore) runs=50 ;;
hub) core=RoomCore modules=(MachineCore CodecCore WebSocketCore ProtocolCore) runs=50 ;;
store) core=RoomCore modules=(MachineCore CodecCore WebSocketCore ProtocolCore) runs=50 ;;
*)
    sed -n '4s/^# *//p' "$0" >&2
    exit 64
    ;;
esac
here=scripts/mutants/$1
copy=.build/mutants/$1
from=Sources/Core/$core
code=$copy/Sources/$core
passed=0 failed=0

rm -rf "$copy/Sources" "$copy/Tests"
mkdir -p "$copy/Sources/HoldfastTesting" "$copy/Tests"
cp "$here/Package.swift.txt" "$copy/Package.swift"
for module in "${modules[@]}" $core; do cp -r "Sources/Core/$module" "$copy/Sources/"; done
cp Sources/Tools/HoldfastTesting/{Explorer,Simulation,SeededGenerator}.swift "$copy/Sources/HoldfastTesting/"
[[ $1 != graphql && $1 != socketio ]] || cp Sources/Tools/HoldfastTesting/ProtocolSimulation.swift "$copy/Sources/HoldfastTesting/"
[ "$1" = store ] || cp -r Tests/${core}Tests "$copy/Tests/"
[ "$1" != wamp ] || cp -r Tests/WAMPAudit "$copy/Sources/"
# The tests read what Yjs wrote.
[ "$1" != documents ] || { mkdir -p "$copy/Interop" && cp -r Interop/documents "$copy/Interop/"; }
# Bugs that the simulation of scripts/mutants/rooms detects are not tested here.
[ "$1" != hub ] || { cp -r Tests/RoomHistory "$copy/Sources/" && rm "$copy"/Tests/RoomCoreTests/Simulation/RoomsSimulationTests.swift; }
# The modules of the SQLite stores, with a stand-in for another package. The bugs are in two modules.
if [ "$1" = store ]; then
    mkdir -p "$copy"/Sources/{HoldfastHub,Crypto} "$copy/Tests/HoldfastHubTests"
    cp -r Sources/Runtime/{RoomsStorage,CRoomsSQLite} "$copy/Sources/"
    cp -r Sources/Runtime/WebSocketRuntime/Storage "$copy/Sources/WebSocketRuntime"
    cp Sources/Runtime/WebSocketRuntime/{LockedValue,WallClock}.swift "$copy/Sources/WebSocketRuntime/"
    cp "$here/Crypto.swift.txt" "$copy/Sources/Crypto/Crypto.swift"
    cp -r Sources/Server/HoldfastHub/Store "$copy/Sources/HoldfastHub/"
    cp -r Tests/HoldfastHubTests/Store "$copy/Tests/HoldfastHubTests/"
    from=$copy/Before code=$copy/Sources
    rm -rf "$from" && cp -r "$code" "$from"
fi

build() { timeout 300 swift build --package-path "$copy" --build-tests > "$copy/build.log" 2>&1; }
# The single rules first: most bugs break one of them, and searches and simulations take long.
long='Exploration|Search|Simulation|Storm|Tumult|Random|World'
[ "$1" != store ] || long=LogRewindTests
run() { RUNS=$runs timeout 300 swift test --package-path "$copy" --skip-build --disable-xctest "$@" > "$copy/test.log" 2>&1; }
judge() { run --skip "$long" && run --filter "$long"; }
note() {
    printf '%-8s %s\n' "$1" "$2"
    if [ "$1" = seen ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

if ! build || ! judge; then
    tail -n 20 "$copy/build.log" "$copy/test.log"
    echo "the code as it is does not pass"
    echo "0 passed, 1 failed"
    exit 1
fi
while IFS='|' read -r file script <&3; do
    [[ -n $file && $file != '#'* && "$file|$script" == *"${2:-}"* ]] || continue
    sed -i "$script" "$code/$file"
    if cmp -s "$from/$file" "$code/$file"; then
        note stale "$file|$script"
    elif ! build; then
        note broken "$file|$script"
    else
        judge
        case $? in
        0) note MISSED "$file|$script" ;;
        124) note slow "$file|$script" ;;
        *) note seen "$file|$script" ;;
        esac
    fi
    cp "$from/$file" "$code/$file"
done 3< "$here/list.txt"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
