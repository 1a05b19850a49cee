#!/usr/bin/env bash
# Puts one bug after another into a copy of SessionCore and runs its tests: each bug has to be seen.
#
#   scripts/mutants/run.sh [TEXT]     only those with TEXT in their line
#
# list.txt has a bug a line: FILE|SED SCRIPT. A script that changes nothing, or gives what does not compile, counts as failed: the
# code has moved on, and so must the list.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
here=scripts/mutants
copy=.build/mutants
code=$copy/Sources/SessionCore
passed=0 failed=0

rm -rf "$copy/Sources" "$copy/Tests"
mkdir -p "$copy/Sources/HoldfastTesting" "$copy/Tests"
cp "$here/Package.swift.txt" "$copy/Package.swift"
cp -r Sources/Core/MachineCore Sources/Core/WebSocketCore Sources/Core/SessionCore "$copy/Sources/"
cp Sources/Tools/HoldfastTesting/{Explorer,Simulation,Simulation+Drive,SeededGenerator}.swift "$copy/Sources/HoldfastTesting/"
cp -r Tests/SessionCoreTests "$copy/Tests/"

build() { timeout 300 swift build --package-path "$copy" --build-tests > "$copy/build.log" 2>&1; }
run() { RUNS=100 timeout 120 swift test --package-path "$copy" --skip-build --disable-xctest > "$copy/test.log" 2>&1; }
note() {
    printf '%-8s %s\n' "$1" "$2"
    if [ "$1" = seen ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

if ! build || ! run; then
    tail -n 20 "$copy/build.log" "$copy/test.log"
    echo "the code as it is does not pass"
    echo "0 passed, 1 failed"
    exit 1
fi
while IFS='|' read -r file script <&3; do
    [[ -n $file && $file != '#'* && "$file|$script" == *"${1:-}"* ]] || continue
    sed -i "$script" "$code/$file"
    if cmp -s "Sources/Core/SessionCore/$file" "$code/$file"; then
        note stale "$file|$script"
    elif ! build; then
        note broken "$file|$script"
    elif run; then
        note MISSED "$file|$script"
    else
        note seen "$file|$script"
    fi
    cp "Sources/Core/SessionCore/$file" "$code/$file"
done 3< "$here/list.txt"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
