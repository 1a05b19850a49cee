#!/usr/bin/env bash
# Interfaces are added and removed in a separate network namespace. Checks what LinuxPathSource reports, and how a socket
# reacts. HOLDFAST_BIN: the peer to run. Needs root, ip and unshare.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
peer=$(realpath "${HOLDFAST_BIN:-.build/debug/HoldfastPeer}") || exit 1
if [ "${1:-}" != inside ]; then
    source scripts/setup.sh
    as_root env HOLDFAST_BIN="$peer" unshare --net "$0" inside
    exit
fi
set +e

work=$(mktemp -d)
passed=0 failed=0 jobs=()
finish() {
    for job in "${jobs[@]}"; do kill "$job" 2> /dev/null; done
    wait 2> /dev/null
    rm -rf "$work"
}
trap finish EXIT

# expect NAME FILE KIND TEXT…: waits until the next lines of KIND (path, state) in FILE contain these texts in order, with others between.
# Each kind has its own order. The two kinds are not ordered against each other.
declare -A seen=()
expect() {
    local name=$1 file=$2 kind=$3 text line limit=$((SECONDS + 60))
    shift 3
    for text in "$@"; do
        while true; do
            line=$(of_kind | tail -n "+$((${seen[$file $kind]:-0} + 1))" | grep -n -m 1 -w -F -- "$text" | cut -d : -f 1)
            [ -z "$line" ] || break
            if [ $SECONDS -ge $limit ]; then
                failed=$((failed + 1))
                echo "FAILED  $name: no $kind $text"
                sed 's/^/        /' "$file"
                return
            fi
            sleep 0.05
        done
        seen[$file $kind]=$((${seen[$file $kind]:-0} + line))
    done
    passed=$((passed + 1))
    echo "ok      $name"
}
of_kind() { grep -- "^$kind" "$file"; }
# from_now FILE: skips the lines so far.
from_now() {
    local file=$1 kind
    for kind in path state; do seen[$file $kind]=$(of_kind | wc -l); done
}
absent() {
    if grep -q -F -- "$3" "$2"; then
        failed=$((failed + 1))
        echo "FAILED  $1: $3"
    else
        passed=$((passed + 1))
        echo "ok      $1"
    fi
}
plug() { ip link add "$1" type veth peer name "p$1" && ip link set "p$1" up && ip link set "$1" up && ip addr add "$2" dev "$1"; }
unplug() { ip link del "$1"; }

ip link set lo up
"$peer" echo-server > "$work/server" & jobs+=($!)
until port=$(sed -n 's/^listening //p' "$work/server") && [ -n "$port" ]; do sleep 0.05; done

# There is no server behind the veth. Only the attempt matters.
"$peer" paths ws://10.99.0.2:9/ > "$work/far" & jobs+=($!)
"$peer" paths "ws://127.0.0.1:$port/" > "$work/near" & jobs+=($!)
expect "without an interface there is no network" "$work/far" path "unsatisfied"
expect "without a network no attempt leaves the device" "$work/far" state "held"
expect "a local connection works without a network" "$work/near" state "connected"

from_now "$work/far"
plug eth7 10.99.0.1/24
ip addr add 10.97.0.1/24 dev eth7 # The first looks see one or two addresses. A second one causes no event.
expect "an interface is a network" "$work/far" path 'satisfied'
expect "a new network is tried at once" "$work/near" path "satisfied"
grep -q 'interface: "eth7"' "$work/far" && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "FAILED  the interface is named"; }
expect "an attempt is made" "$work/far" state "connecting"

plug wlan7 10.98.0.1/24
ip route add default via 10.98.0.2 dev wlan7
expect "the default route is the path, and better while the other exists" "$work/near" path 'interface: "wlan7"' "betterPathAvailable"
unplug wlan7
expect "a lost path is replaced by another" "$work/near" path "unsatisfied" 'interface: "eth7"'
ip addr del 10.97.0.1/24 dev eth7
expect "a lost address makes the path not viable" "$work/near" path "notViable"
from_now "$work/far"
ip link set eth7 down
expect "an interface that goes down ends the network" "$work/near" path "unsatisfied"
expect "without it no attempt leaves the device" "$work/far" state "held"
absent "what stays within this device never lost its connection" "$work/near" "state waiting"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
