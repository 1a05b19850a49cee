#!/bin/bash
# Runs Holdfast against real peers; see README.md for the pairs.
#
#   Interop/run.sh [PAIR…]     (no argument: every pair)
#
# HOLDFAST_BIN names a program with our peer's commands. Without it the release build is made first.
set -euo pipefail
# shellcheck source=../scripts/setup.sh
source "$(dirname "$0")/../scripts/setup.sh"
PAIRS=(to-node to-python to-websocketd to-nginx from-node from-python from-node-tls from-chromium)
[ $# -gt 0 ] || set -- "${PAIRS[@]}"
for pair in "$@"; do
    [[ " ${PAIRS[*]} " == *" $pair "* ]] || die "unknown pair '$pair' (there are: ${PAIRS[*]})"
done

need_interop
HOLDFAST=$(swift_program HOLDFAST_BIN HoldfastPeer)
PEERS=$ROOT/Interop/peers

work=$(mktemp -d)
export TMPDIR=$work
started=()
passed=0
failed=0

stop_all() {
    local pid
    for pid in "${started[@]}"; do kill "$pid" 2> /dev/null || true; done
    for pid in "${started[@]}"; do wait "$pid" 2> /dev/null || true; done
    started=()
}
trap 'stop_all; rm -rf "$work"' EXIT

# start COMMAND…: starts a server in the background, waits for its line `listening PORT`, sets $port.
start() {
    local log
    log=$(mktemp "$work/server.XXXXXX")
    "$@" > "$log" 2> "$log.errors" &
    local pid=$!
    started+=("$pid")
    for _ in {1..200}; do
        port=$(sed -n 's/^listening //p' "$log")
        if [ -n "$port" ] && (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then return 0; fi
        kill -0 "$pid" 2> /dev/null || break
        sleep 0.05
    done
    echo "not ok ${1##*/} does not start: $(tail -n 1 "$log.errors")"
    return 1
}

# check COMMAND…: runs a suite and passes its lines on. No output or an early end is a failure too.
check() {
    local output status=0
    output=$(timeout 120 "$@" 2>&1) || status=$?
    [ -z "$output" ] || printf '%s\n' "$output"
    if [ $status -ne 0 ] && ! grep -q '^not ok' <<< "$output"; then echo "not ok ended with status $status"; fi
    if [ $status -eq 0 ] && ! grep -q '^ok' <<< "$output"; then echo 'not ok printed nothing'; fi
}

# A self-signed certificate for 127.0.0.1.
certificate() {
    [ -e "$work/cert.pem" ] || openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 \
        -addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout "$work/key.pem" -out "$work/cert.pem" 2> /dev/null
}

both() { check "$@"; check "$@" --no-compression; }

to-node() { start "$PEERS/node.js" echo-server && both "$HOLDFAST" suite "ws://127.0.0.1:$port"; }
to-python() { start "$PYTHON" "$PEERS/python.py" echo-server && both "$HOLDFAST" suite "ws://127.0.0.1:$port"; }
to-websocketd() { start "$PEERS/websocketd.sh" echo-server && check "$HOLDFAST" suite "ws://127.0.0.1:$port" --lines --no-compression; }
to-nginx() {
    certificate
    start "$PYTHON" "$PEERS/python.py" echo-server &&
        start "$PEERS/nginx.sh" echo-server --tls-cert "$work/cert.pem" --tls-key "$work/key.pem" --upstream "$port" &&
        both "$HOLDFAST" suite "wss://127.0.0.1:$port" --ca "$work/cert.pem"
}
from-node() { start "$HOLDFAST" echo-server && both "$PEERS/node.js" suite "ws://127.0.0.1:$port"; }
from-python() { start "$HOLDFAST" echo-server && both "$PYTHON" "$PEERS/python.py" suite "ws://127.0.0.1:$port"; }
from-node-tls() {
    certificate
    start "$HOLDFAST" echo-server --tls-cert "$work/cert.pem" --tls-key "$work/key.pem" &&
        both "$PEERS/node.js" suite "wss://127.0.0.1:$port" --ca "$work/cert.pem"
}
from-chromium() { start "$HOLDFAST" echo-server && check "$PYTHON" "$PEERS/chromium.py" suite "ws://127.0.0.1:$port"; }

for pair in "$@"; do
    "$pair" > "$work/lines" || true
    stop_all
    good=$(grep -c '^ok' "$work/lines" || true)
    bad=$(grep -c '^not ok' "$work/lines" || true)
    echo "$pair: $good ok, $bad not ok"
    [ "$bad" -eq 0 ] || grep -v '^ok' "$work/lines" | sed 's/^/    /'
    passed=$((passed + good))
    failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
