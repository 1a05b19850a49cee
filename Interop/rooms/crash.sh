#!/usr/bin/env bash
# Tests the stores of rooms on real files. A process ends at each crash point. The next one opens what it left, checks it,
# continues, and ends at the next point. Then come logs of a killed hub with changed, shortened, missing or older files (damage.py),
# and finally small disks that become full, and read-only disks. See ../README.md.
#
#   Interop/rooms/crash.sh     (PASSES=12 crashes at each point)
#
# SEED changes the actions in between. HOLDFAST_BIN names a program with our peer's commands. The disks need root and unshare.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=../../scripts/setup.sh
source scripts/setup.sh
set +e
peer=$(swift_program HOLDFAST_BIN HoldfastPeer) || exit 1
passes=${PASSES:-12} seed=${SEED:-$RANDOM}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

ok() { passed=$((passed + 1)); echo "ok      $1"; }
not_ok() {
    failed=$((failed + 1))
    echo "FAILED  $1"
    sed 's/^/        /' "$work/out"
}

# die_at DIR POINT PASS: a run checks what the one before it left, and ends at this point.
die_at() {
    local dir=$1 point=$2 pass=$3
    timeout 120 "$peer" store "crash-${point%%-*}" "$work/$dir" --point "$point" --pass "$pass" --seed $((seed + round + 1)) > "$work/out" 2>&1
}
echo "seed $seed, $passes deaths at each point"
for point in $("$peer" store points); do
    [ "${point%%-*}" = hub ] && last=hub-appended || last=client-queued
    wrong=
    for ((round = 0; round < passes && ${#wrong} == 0; round++)); do
        # The first time, the second time and so on: early and late in the life of a file.
        case $point in
            hub-appends-partly) pass=$((round * 17 + 1)) ;;
            hub-renews) pass=1 ;;
            hub-trims | hub-trimmed | hub-copies*) pass=$((round % 4 + 1)) ;;
            *) pass=$((round * 3 % 29 + 1)) ;;
        esac
        # Nothing can be renewed before a backup exists.
        [ "$point" != hub-renews ] || [ -e "$work/$point/restored" ] || die_at "$point" hub-copies-marked 2
        die_at "$point" "$point" "$pass"
        [ $? = 86 ] || wrong="round $round, pass $pass"
    done
    if [ -z "$wrong" ]; then
        die_at "$point" "$last" 1
        [ $? = 86 ] || wrong="after the last round"
    fi
    if [ -z "$wrong" ]; then ok "$point, $passes times: what was told holds"; else not_ok "$point, $wrong"; fi
done

while IFS='|' read -r wanted damage <&3; do
    rm -rf "$work/damaged"
    mkdir "$work/damaged"
    option=()
    [ "$wanted" = - ] || option=(--wanted "$wanted")
    timeout 120 "$peer" store written-hub "$work/damaged" > "$work/out" 2>&1
    if [ $? = 86 ] && python3 Interop/rooms/damage.py do "$work/damaged" "$damage" >> "$work/out" 2>&1 \
        && timeout 120 "$peer" store damaged-hub "$work/damaged" "${option[@]}" >> "$work/out" 2>&1; then
        ok "$damage: $(tail -n 1 "$work/out" | cut -d : -f 1)"
    else not_ok "$damage"; fi
done 3< <(python3 Interop/rooms/damage.py list)

# in_namespace COMMAND…: runs it where disks can be mounted privately.
in_namespace() { as_root unshare --mount --propagation private "$@" > "$work/out" 2>&1; }
for kind in hub client; do
    mkdir -p "$work/disk-$kind"
    # shellcheck disable=SC2016
    if in_namespace bash -c 'mount -t tmpfs -o size=3m none "$2" && head -c 1500000 /dev/zero > "$2/ballast" && timeout 120 "$1" store "full-$3" "$2"' \
        _ "$peer" "$work/disk-$kind" "$kind"; then
        ok "a $kind on a full disk: refused, nothing lost, and it goes on when there is room"
    else not_ok "a $kind on a full disk"; fi
    # shellcheck disable=SC2016
    if in_namespace bash -c 'mount -t tmpfs -o size=3m,ro none "$2" && timeout 120 "$1" store "read-only-$3" "$2"' \
        _ "$peer" "$work/disk-$kind" "$kind"; then
        ok "a $kind on a disk that cannot be written: a typed error"
    else not_ok "a $kind on a disk that cannot be written"; fi
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
