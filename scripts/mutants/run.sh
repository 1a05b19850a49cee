#!/usr/bin/env bash
# Puts one bug after another into a copy of a Core module and runs its tests: each bug has to be seen.
#
#   scripts/mutants/run.sh session|wamp|hub [TEXT]     only those with TEXT in their line
#
# The part's list.txt has a bug a line: FILE|SED SCRIPT. A script that changes nothing, or gives what does not compile, counts as
# failed: the code has moved on, and so must the list.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
case ${1:-} in
session) core=SessionCore modules=(MachineCore WebSocketCore) runs=100 ;;
wamp) core=WAMPCore modules=(MachineCore CodecCore) runs=50 ;;
hub) core=RoomCore modules=(MachineCore CodecCore) runs=50 ;;
*)
    sed -n '4s/^# *//p' "$0" >&2
    exit 64
    ;;
esac
here=scripts/mutants/$1
copy=.build/mutants/$1
code=$copy/Sources/$core
passed=0 failed=0

rm -rf "$copy/Sources" "$copy/Tests"
mkdir -p "$copy/Sources/HoldfastTesting" "$copy/Tests"
cp "$here/Package.swift.txt" "$copy/Package.swift"
for module in "${modules[@]}" $core; do cp -r "Sources/Core/$module" "$copy/Sources/"; done
cp Sources/Tools/HoldfastTesting/{Explorer,Simulation,Simulation+Drive,SeededGenerator}.swift "$copy/Sources/HoldfastTesting/"
cp -r Tests/${core}Tests "$copy/Tests/"
[ "$1" != wamp ] || cp -r Tests/WAMPAudit "$copy/Sources/"
# What scripts/mutants/rooms sees, in its simulation, is not asked for here.
[ "$1" != hub ] || { cp -r Tests/RoomHistory "$copy/Sources/" && rm "$copy"/Tests/RoomCoreTests/Simulation/RoomsSimulationTests.swift; }

build() { timeout 300 swift build --package-path "$copy" --build-tests > "$copy/build.log" 2>&1; }
# The rules one by one first: most bugs break one of them, and searches and simulations take long.
long='Exploration|Search|Simulation|Storm|Tumult|Random'
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
    if cmp -s "Sources/Core/$core/$file" "$code/$file"; then
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
    cp "Sources/Core/$core/$file" "$code/$file"
done 3< "$here/list.txt"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
