#!/usr/bin/env bash
# Puts each bug into a copy of RoomCore and runs the simulation of rooms, which must detect it.
#
#   scripts/mutants/rooms/run.sh [TEXT]     only bugs with TEXT in their line
#   scripts/mutants/rooms/run.sh --simulate FROM TO     no bugs: runs these worlds with a release build
#
# list.txt has one bug per line: NAME|FILE|SED SCRIPT. A script that changes nothing, or whose result does not compile, counts as failed,
# and the list must be updated. The next bug is built while the current one is simulated.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
here=scripts/mutants/rooms
core=Sources/Core/RoomCore
copy=.build/mutants-rooms
# The number of worlds for each bug. Most bugs appear in the first few, the rarest in the 2412th.
worlds=2600

# prepare COPY: a small package with the rules of rooms and their simulation, without the bugs of an earlier run
prepare() {
    rm -rf "$1/Sources" "$1/runs"
    mkdir -p "$1/Sources/HoldfastTesting" "$1/Sources/Simulate" "$1/runs"
    cp "$here/Package.swift.txt" "$1/Package.swift"
    cp -r Sources/Core/{MachineCore,CodecCore,WebSocketCore,ProtocolCore} $core "$1/Sources/"
    cp -r Tests/RoomHistory "$1/Sources/"
    cp Sources/Tools/HoldfastTesting/SeededGenerator.swift "$1/Sources/HoldfastTesting/"
    cp Tests/RoomCoreTests/Simulation/*.swift "$1/Sources/Simulate/"
    rm "$1/Sources/Simulate/RoomsSimulationTests.swift"
    cp "$here/main.swift.txt" "$1/Sources/Simulate/main.swift"
}
# Optimised, which is faster for more than about three hundred worlds, but file by file, so that a bug rebuilds one file.
build() { timeout 600 swift build --package-path $copy --disable-index-store -Xswiftc -O > $copy/build.log 2>&1; }

if [ "${1:-}" = --simulate ]; then
    copy=.build/mutants-rooms/release
    prepare $copy
    timeout 600 swift build --package-path $copy -c release > $copy/build.log 2>&1 || { tail -n 20 $copy/build.log; exit 1; }
    exec $copy/.build/release/Simulate "$2" "$3"
fi

# simulate NUMBER: runs the worlds with a bug's program until one fails; 0 is the unchanged code
simulate() {
    local program=$copy/runs/$1 started=$SECONDS verdict
    timeout 300 "$program" 1 $worlds 1 > "$program.log" 2>&1
    case $? in
    0) verdict=MISSED ;;
    124) verdict=slow ;;
    *) verdict=seen ;;
    esac
    rm "$program"
    printf '%-8s %s (%d s): %s\n' $verdict "$2" $((SECONDS - started)) "$(tail -n 1 "$program.log" | cut -c 1-160)" > "$program.out"
}
# start NUMBER NAME: the same in the background, with two at a time
start() {
    cp $copy/.build/debug/Simulate "$copy/runs/$1"
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
    simulate "$1" "$2" &
}

prepare $copy
build || { tail -n 20 $copy/build.log; echo "0 passed, 1 failed"; exit 1; }
start 0 "the code as it is"
number=0
while IFS='|' read -r name file script <&3; do
    [[ -n $name && $name != '#'* && "$name|$file|$script" == *"${1:-}"* ]] || continue
    number=$((number + 1))
    sed -i "$script" "$copy/Sources/RoomCore/$file"
    if cmp -s "$core/$file" "$copy/Sources/RoomCore/$file"; then
        echo "stale    $name" > $copy/runs/$number.out
    elif build; then
        start $number "$name"
    else
        echo "broken   $name" > $copy/runs/$number.out
    fi
    cp "$core/$file" "$copy/Sources/RoomCore/$file"
done 3< $here/list.txt
wait
if ! grep -q '^MISSED' $copy/runs/0.out; then
    cat $copy/runs/0.log
    echo "the code as it is does not pass"
    echo "0 passed, 1 failed"
    exit 1
fi
rm $copy/runs/0.out
sort -k 2 $copy/runs/*.out
passed=$(cat $copy/runs/*.out | grep -c '^seen')
failed=$(cat $copy/runs/*.out | grep -vc '^seen')
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
