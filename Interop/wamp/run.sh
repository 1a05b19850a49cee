#!/bin/bash
# WAMP with routers and clients of others; see ../README.md.
#
#   Interop/wamp/run.sh [PART…]     (no argument: auth lists missed kills, and in parallel sloppy ours storms)
#
# HOLDFAST names the tool, HOLDFAST_BIN a program with our peer's commands. Without them the release builds are made first.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
# The parts with Crossbar wait long for its start, so the others run meanwhile.
CROSSBAR_PARTS=(auth lists missed kills)
OTHER_PARTS=(sloppy ours storms)
PARTS=("${CROSSBAR_PARTS[@]}" "${OTHER_PARTS[@]}")
for part in "$@"; do
    [[ " ${PARTS[*]} " == *" $part "* ]] || die "unknown part '$part' (there are: ${PARTS[*]})"
done

need_wamp
HOLDFAST=$(swift_program HOLDFAST holdfast)
PEER=$(swift_program HOLDFAST_BIN HoldfastPeer)
export HOLDFAST HOLDFAST_BIN=$PEER
HERE=$ROOT/Interop/wamp
export PYTHONDONTWRITEBYTECODE=1
export PATH=$CROSSBAR_VENV/bin:$PATH CROSSBAR=$CROSSBAR_VENV/bin/crossbar
WAMP_PYTHON=$CROSSBAR_VENV/bin/python

node=$work/node
end() {
    "$HERE/crossbar.sh" kill "$node"
    for each in "$work"/router-*; do "$HERE/router.sh" kill "$each"; done
    stop_all
    rm -rf "$work"
}
trap end EXIT
crossbar=

# need_crossbar_running: starts Crossbar with the test's configuration. Its port is $crossbar, the key of its user client01 is $seed.
need_crossbar_running() {
    [ -z "$crossbar" ] || return 0
    crossbar=$(free_port)
    mkdir -p "$node"
    seed=$("$WAMP_PYTHON" "$HERE/crossbar_config.py" "$node" "$crossbar" | sed 's/.*seed \([0-9a-f]*\).*/\1/')
    "$HERE/crossbar.sh" start "$node"
}

# our_router NAME OPTION…: starts our router. Its URL is $router, and $restart kills and restarts it.
our_router() {
    local port words
    port=$(free_port)
    words="$work/router-$1 $port ${*:2}"
    router=ws://127.0.0.1:$port/ws
    restart="$HERE/router.sh restart $words"
    # shellcheck disable=SC2086  # They are words.
    "$HERE/router.sh" start $words
}

# calls NAME STATUS PATTERN ARGUMENT…: the tool calls, ends with the status, and its output matches the pattern.
calls() {
    local name=$1 wanted=$2 pattern=$3 status=0
    shift 3
    timeout 60 "$HOLDFAST" wamp call "$@" > "$work/output" 2>&1 < /dev/null || status=$?
    if [ $status = "$wanted" ] && grep -Eq -- "$pattern" "$work/output"; then status=0; else status=1; fi
    report $status "$name"
}

# with_partner URL REALM SERIALIZER COMMAND…: runs our suite with an app of autobahn-python at the same router.
with_partner() {
    local line
    coproc PARTNER { exec "$WAMP_PYTHON" "$HERE/partner.py" "$1" "$2" "$3" 2> "$work/partner.errors"; }
    local pid=$PARTNER_PID input=${PARTNER[1]}
    if read -r -t 20 line <&"${PARTNER[0]}" && [ "$line" = ready ]; then
        tally "${@:4}"
    else
        echo "not ok the partner does not start: $(tail -n 1 "$work/partner.errors")"
        failed=$((failed + 1))
    fi
    # It ends with its input.
    exec {input}>&-
    wait "$pid" 2> /dev/null || true
}

auth() {
    need_crossbar_running
    local url=ws://127.0.0.1:$crossbar count='realm1 wamp.session.count'
    tally "$PEER" wamp auth "$url" realm1
    # shellcheck disable=SC2086  # They are words.
    {
        calls "tool: a key needs no name" 0 '^[0-9]+$' "$url/cryptosign" $count --auth cryptosign --secret "$seed"
        calls "tool: a password that is hashed by PBKDF2" 0 '^[0-9]+$' "$url/scram" $count --auth scram --user dave --secret secret123
        calls "tool: one that is hashed by Argon2 is told" 3 'no Argon2: .*PBKDF2' \
            "$url/scram" $count --auth scram --user carol --secret secret123
    }
}

# Each of our serializations meets another one at the other side.
lists() {
    need_crossbar_running
    local ours
    for ours in json:json:cbor messagePack:msgpack:json cbor:cbor:msgpack; do
        IFS=: read -r serialization path theirs <<< "$ours"
        with_partner "ws://127.0.0.1:$crossbar/ws" realm1 "$theirs" \
            "$PEER" wamp suite "ws://127.0.0.1:$crossbar/$path" realm1 "$serialization" --router crossbar
    done
    # Our router must behave as Crossbar does.
    tally "$WAMP_PYTHON" "$HERE/suite.py" "ws://127.0.0.1:$crossbar/ws" realm.history json,msgpack,cbor --crossbar --history
}

missed() {
    need_crossbar_running
    with_partner "ws://127.0.0.1:$crossbar/ws" realm.history msgpack "$PEER" wamp history "ws://127.0.0.1:$crossbar/ws" realm.history
}

# Crossbar is killed and restarted during calls and events.
kills() {
    need_crossbar_running
    tally "$HERE/kills.sh" "$HERE/crossbar.sh restart $node" "$PEER wamp storm ws://127.0.0.1:$crossbar/ws realm1"
}

sloppy() {
    local url
    start sloppy "$WAMP_PYTHON" "$HERE/sloppy.py" "$(free_port)" realm1
    url=ws://127.0.0.1:$port/ws
    with_partner "$url" realm1 json "$PEER" wamp suite "$url" realm1 messagePack --router xconn
}

# Our router with autobahn-python at both ends, then at one end.
ours() {
    local each
    our_router lists --realm realm1 --allow-kill --anonymous --user 'joe:secret!!!' --cra peter:secret123 --history 20
    tally "$WAMP_PYTHON" "$HERE/suite.py" "$router" realm1 json,msgpack,cbor --auth --history
    for each in json:cbor messagePack:json cbor:msgpack; do
        with_partner "$router" realm1 "${each#*:}" "$PEER" wamp suite "$router" realm1 "${each%:*}"
    done
    with_partner "$router" realm1 msgpack "$PEER" wamp history "$router" realm1
}

# Our router is killed and restarted under the load of our clients and of autobahn-python's.
storms() {
    our_router storms --realm realm1
    tally "$HERE/kills.sh" "$restart" "$PEER wamp storm $router realm1" "$WAMP_PYTHON $HERE/storm.py $router realm1"
}

others=
if [ $# = 0 ]; then
    set -- "${CROSSBAR_PARTS[@]}"
    "$0" "${OTHER_PARTS[@]}" > "$work/others" 2>&1 &
    others=$!
    started+=("$others")
fi
for part in "$@"; do
    echo "== $part"
    "$part"
done
if [ -n "$others" ]; then
    status=0
    wait "$others" || status=$?
    sed '$d' "$work/others"
    sum=$(tail -n 1 "$work/others")
    if [[ $sum =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
    else
        echo "$sum"
        echo "not ok ${OTHER_PARTS[*]}: ended with status $status"
        failed=$((failed + 1))
    fi
fi
finish
