#!/bin/bash
# WAMP with routers and clients that nobody here wrote; see ../README.md.
#
#   Interop/wamp/run.sh [PART…]     (no argument: auth lists missed kills sloppy ours)
#
# HOLDFAST names the tool, HOLDFAST_BIN a program with our peer's commands; without them the release builds are made first.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
PARTS=(auth lists missed kills sloppy ours)
[ $# -gt 0 ] || set -- "${PARTS[@]}"
for part in "$@"; do
    [[ " ${PARTS[*]} " == *" $part "* ]] || die "unknown part '$part' (there are: ${PARTS[*]})"
done

need_wamp
HOLDFAST=$(swift_program HOLDFAST holdfast)
PEER=$(swift_program HOLDFAST_BIN HoldfastPeer)
HERE=$ROOT/Interop/wamp
export PYTHONDONTWRITEBYTECODE=1
export PATH=$CROSSBAR_VENV/bin:$PATH CROSSBAR=$CROSSBAR_VENV/bin/crossbar
WAMP_PYTHON=$CROSSBAR_VENV/bin/python

node=$work/node
trap '"$HERE/crossbar.sh" kill "$node"; stop_all; rm -rf "$work"' EXIT
crossbar=

# need_crossbar_running: Crossbar with the test's configuration; its port is $crossbar.
need_crossbar_running() {
    [ -z "$crossbar" ] || return 0
    crossbar=$(free_port)
    mkdir -p "$node"
    "$WAMP_PYTHON" "$HERE/crossbar_config.py" "$node" "$crossbar" > /dev/null
    "$HERE/crossbar.sh" start "$node"
}

# with_partner URL REALM SERIALIZER COMMAND…: a suite of ours, and an app of autobahn-python at the same router.
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
    tally "$PEER" wamp auth "ws://127.0.0.1:$crossbar" realm1
}

# Each serialization of ours meets another one at the other side.
lists() {
    need_crossbar_running
    local ours
    for ours in json:json:cbor messagePack:msgpack:json cbor:cbor:msgpack; do
        IFS=: read -r serialization path theirs <<< "$ours"
        with_partner "ws://127.0.0.1:$crossbar/ws" realm1 "$theirs" \
            "$PEER" wamp suite "ws://127.0.0.1:$crossbar/$path" realm1 "$serialization" --router crossbar
    done
}

missed() {
    need_crossbar_running
    with_partner "ws://127.0.0.1:$crossbar/ws" realm.history msgpack "$PEER" wamp history "ws://127.0.0.1:$crossbar/ws" realm.history
}

# Crossbar is killed while calls and events are under way, and started again.
kills() {
    need_crossbar_running
    tally "$HERE/kills.sh" "$PEER" "$node" "ws://127.0.0.1:$crossbar/ws" realm1
}

sloppy() {
    local url
    start sloppy "$WAMP_PYTHON" "$HERE/sloppy.py" "$(free_port)" realm1
    url=ws://127.0.0.1:$port/ws
    with_partner "$url" realm1 json "$PEER" wamp suite "$url" realm1 messagePack --router xconn
}

# Our router: autobahn-python at both ends, then at one.
ours() {
    local url each
    "$HOLDFAST" serve wamp --port 0 --realm realm1 --anonymous --user 'joe:secret!!!' --cra peter:secret123 --history 20 > "$work/router" 2>&1 < /dev/null &
    started+=($!)
    for _ in {1..200}; do
        url=$(grep -oE 'ws://[^ ]+' "$work/router" | head -n 1 || true)
        [ -z "$url" ] || break
        sleep 0.05
    done
    [ -n "$url" ] || die "the router does not start: $(cat "$work/router")"
    for each in json msgpack cbor; do tally "$WAMP_PYTHON" "$HERE/suite.py" "$url" realm1 "$each" --auth; done
    for each in json:cbor messagePack:json cbor:msgpack; do
        with_partner "$url" realm1 "${each#*:}" "$PEER" wamp suite "$url" realm1 "${each%:*}"
    done
    with_partner "$url" realm1 msgpack "$PEER" wamp history "$url" realm1
}

for part in "$@"; do
    echo "== $part"
    "$part"
done
finish
