#!/usr/bin/env bash
# Puts one bug after another into a copy of RoomCore and runs the simulation of rooms: each bug has to be seen.
#
#   scripts/mutants/rooms/run.sh [TEXT]     only those with TEXT in their line
#   scripts/mutants/rooms/run.sh --simulate FROM TO     no bugs: lives through those worlds, with a release build
#
# list.txt has a bug a line: NAME|FILE|SED SCRIPT. A script that changes nothing, or gives what does not compile, counts as failed: the
# code has moved on, and so must the list. Two bugs are tried at a time, each in a copy of its own.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
here=scripts/mutants/rooms
core=Sources/Core/RoomCore
# Worlds that each bug has to be seen in; most are seen in the first few, the rarest in the 1039th.
worlds=1600

# prepare COPY: a small package with the rules of rooms and their simulation, without the bugs of an earlier run
prepare() {
    rm -rf "$1/Sources"
    mkdir -p "$1/Sources/HoldfastTesting" "$1/Sources/Simulate"
    cp "$here/Package.swift.txt" "$1/Package.swift"
    cp -r Sources/Core/MachineCore Sources/Core/CodecCore $core "$1/Sources/"
    cp -r Tests/RoomHistory "$1/Sources/"
    cp Sources/Tools/HoldfastTesting/SeededGenerator.swift "$1/Sources/HoldfastTesting/"
    cp Tests/RoomCoreTests/Simulation/*.swift "$1/Sources/Simulate/"
    rm "$1/Sources/Simulate/RoomsSimulationTests.swift"
    cp "$here/main.swift.txt" "$1/Sources/Simulate/main.swift"
}
build() { timeout 600 swift build --package-path "$1" -c "${2:-debug}" > "$1/build.log" 2>&1; }
simulate() { timeout 300 "$1/.build/debug/Simulate" 1 $worlds > "$1/run.log" 2>&1; }

if [ "${1:-}" = --simulate ]; then
    copy=.build/mutants-rooms/release
    prepare $copy
    build $copy release || { tail -n 20 $copy/build.log; exit 1; }
    exec $copy/.build/release/Simulate "$2" "$3"
fi

# try COPY FIRST: every second bug of the list, from the first or from the second on
try() {
    local copy=$1 turn=$2 name file script number=0 verdict started
    while IFS='|' read -r name file script <&3; do
        [[ -n $name && $name != '#'* && "$name|$file|$script" == *"${text}"* ]] || continue
        number=$((number + 1))
        [ $((number % 2)) = "$turn" ] || continue
        started=$SECONDS
        sed -i "$script" "$copy/Sources/RoomCore/$file"
        if cmp -s "$core/$file" "$copy/Sources/RoomCore/$file"; then
            verdict=stale
        elif ! build "$copy"; then
            verdict=broken
        elif simulate "$copy"; then
            verdict=MISSED
        else
            verdict=seen
        fi
        printf '%-8s %s (%d s): %s\n' $verdict "$name" $((SECONDS - started)) "$(tail -n 1 "$copy/run.log" | cut -c 1-160)"
        cp "$core/$file" "$copy/Sources/RoomCore/$file"
    done 3< $here/list.txt
}

text=${1:-}
for copy in .build/mutants-rooms/0 .build/mutants-rooms/1; do prepare $copy; done
if ! build .build/mutants-rooms/0 || ! simulate .build/mutants-rooms/0; then
    tail -n 20 .build/mutants-rooms/0/*.log
    echo "the code as it is does not pass"
    echo "0 passed, 1 failed"
    exit 1
fi
for turn in 0 1; do try .build/mutants-rooms/$turn $turn > .build/mutants-rooms/$turn.out & done
wait
sort -k 2 .build/mutants-rooms/[01].out
passed=$(cat .build/mutants-rooms/[01].out | grep -c '^seen')
failed=$(cat .build/mutants-rooms/[01].out | grep -vc '^seen')
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
