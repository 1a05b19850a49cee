#!/bin/bash
# Sessions against Node `ws`, Python `websockets` and our server, over faulty links, and with the server killed, ended and frozen. Then
# thousands of sessions that open and close. See ../README.md.
#
#   Interop/survive/run.sh [share]     (no argument: all of it, minutes)
#
# CUTS, ROUNDS, CYCLES and SEED set the amounts. SERVERS names some of node, python and holdfast.
# HOLDFAST_BIN names a program with our peer's commands. Without it the release build is made first.
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
SERVERS=${SERVERS:-node python holdfast}
case ${1:-} in
    share) CUTS=${CUTS:-72} ROUNDS=${ROUNDS:-1} CYCLES=${CYCLES:-500} LIMIT=240 ;;
    '') CUTS=${CUTS:-1000} ROUNDS=${ROUNDS:-5} CYCLES=${CYCLES:-10000} LIMIT=1800 ;;
    *) die "unknown part '$1' (there is: share)" ;;
esac
SEED=${SEED:-$RANDOM}

need_apt nodejs node-ws
need_python
HOLDFAST=$(swift_program HOLDFAST_BIN HoldfastPeer)
reports=$ROOT/reports/survive
mkdir -p "$reports"
rm -f "$reports"/*.txt "$reports"/*.log

declare -A command=(
    [node]="node $ROOT/Interop/survive/server.js"
    [python]="$PYTHON $ROOT/Interop/survive/server.py"
    [holdfast]="$HOLDFAST"
)
read -ra servers <<< "$SERVERS"
for server in "${servers[@]}"; do [ -n "${command[$server]:-}" ] || die "unknown server '$server'"; done

# A server ends with the program that started it. A frozen one must be continued first.
running=()
stop_all() {
    local pid
    for pid in "${running[@]}"; do kill "$pid" 2> /dev/null || true; done
    wait
}
trap stop_all EXIT

# run NAME COMMAND…: runs in the background. Its output goes to NAME.txt, with an extra line if it fails.
run() {
    local name=$1
    shift
    {
        status=0
        timeout --kill-after=10 "$LIMIT" "$HOLDFAST" "$@" --log "$reports/$name.log" 2>&1 || status=$?
        [ $status -le 1 ] || echo "not ok ended with status $status"
    } > "$reports/$name.txt" &
    running+=($!)
}

names=()
part=0
for server in "${servers[@]}"; do
    part=$((part + 1))
    names+=("$server")
    # The first server gets the remainder.
    cuts=$((CUTS / ${#servers[@]} + (part <= CUTS % ${#servers[@]})))
    # shellcheck disable=SC2086
    run "$server" survive ${command[$server]} --cuts "$cuts" --rounds "$ROUNDS" --seed "$((SEED + part))"
    # The share is quick. The whole run is measured, so one server after the other.
    [ "${1:-}" = share ] || wait
done
names+=(cycles)
run cycles cycles "$HOLDFAST" --count "$CYCLES"
wait

passed=0
failed=0
for name in "${names[@]}"; do
    good=$(grep -c '^ok' "$reports/$name.txt" || true)
    bad=$(grep -c '^not ok' "$reports/$name.txt" || true)
    if [ $((good + bad)) = 0 ]; then
        bad=1
        echo 'not ok printed nothing' >> "$reports/$name.txt"
    fi
    echo "$name: $good ok, $bad not ok$(sed -n 's/^seed/, seed/p' "$reports/$name.txt")"
    grep '^not ok' "$reports/$name.txt" | sed 's/^/    /' || true
    passed=$((passed + good))
    failed=$((failed + bad))
done

# A row for each figure, a column for each server. Times are median/99th percentile/longest.
table() {
    local name
    for name in "$@"; do sed -n "s/^figure /$name\t/p" "$reports/$name.txt"; done | awk -F '\t' -v names="$*" '
        BEGIN { count = split(names, name, " ") }
        {
            value = $2; sub(/.* /, "", value)
            figure = substr($2, 1, length($2) - length(value) - 1)
            if (!(figure in seen)) { seen[figure]; order[++rows] = figure }
            cell[figure, $1] = value
        }
        END {
            printf "%-46s", ""; for (i = 1; i <= count; i++) printf " %16s", name[i]; print ""
            for (row = 1; row <= rows; row++) {
                printf "%-46s", order[row]
                for (i = 1; i <= count; i++) printf " %16s", cell[order[row], name[i]]
                print ""
            }
        }'
}
{
    table "${servers[@]}"
    echo
    table cycles
} | tee "$reports/table.txt"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
