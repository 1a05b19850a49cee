#!/bin/bash
# WebSockets over HTTP/2 (RFC 8441) with real peers: hypercorn and HAProxy as servers, HAProxy and headless Chromium as clients.
#
#   Interop/http2/run.sh
#
# HOLDFAST and HOLDFAST_BIN name the tool and the program with our peer's commands. Without them the release builds are made first.
# Each server prints the HTTP version of a WebSocket, and a check passes only if the version is right.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
need_apt haproxy chromium openssl python3
need_python
HOLDFAST=$(swift_program HOLDFAST holdfast)
PEER=$(swift_program HOLDFAST_BIN HoldfastPeer)

export TMPDIR=$work

# start NAME PORT COMMAND…: starts a server in the background and waits until it accepts connections. Its output goes to $work/NAME.log.
start() {
    local name=$1 port=$2
    shift 2
    "$@" > "$work/$name.log" 2>&1 &
    local pid=$!
    started+=("$pid")
    for _ in {1..600}; do
        if (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then return 0; fi
        kill -0 "$pid" 2> /dev/null || break
        sleep 0.05
    done
    die "$name does not start: $(tail -n 1 "$work/$name.log")"
}

# echo_server VARIABLE OPTION…: starts our peer's echo server for the suite, and stores its port in the variable.
echo_server() {
    local -n result=$1
    local log="$work/peer.$1"
    shift
    : > "$log"
    "$PEER" echo-server "$@" > "$log" 2>&1 &
    started+=($!)
    for _ in {1..600}; do
        result=$(sed -n 's/^listening //p' "$log")
        if [ -n "$result" ]; then return 0; fi
        sleep 0.05
    done
    die "our peer does not start: $(tail -n 1 "$log")"
}

# opened NAME: the number of WebSockets that a server opened over HTTP/2, and over HTTP/1.
opened() { echo "$(grep -c 'over HTTP/2' "$work/$1.log" || true) $(grep -c 'over HTTP/1' "$work/$1.log" || true)"; }

# talks NAME SERVER VERSION URL OPTION…: a message comes back, and the server reports this HTTP version.
talks() {
    local name=$1 server=$2 version=$3 before after status=1
    shift 3
    before=$(opened "$server")
    timeout 120 "$HOLDFAST" connect -x 'two at once' --wait 0.2 "$@" > "$work/output" 2>&1 || true
    after=$(opened "$server")
    if [ "$version" = 2 ] && [ "${after% *}" -gt "${before% *}" ] && [ "${after#* }" = "${before#* }" ]; then status=0; fi
    if [ "$version" = 1 ] && [ "${after#* }" -gt "${before#* }" ] && [ "${after% *}" = "${before% *}" ]; then status=0; fi
    grep -qx 'two at once' "$work/output" || status=1
    report $status "$name"
}

# refused NAME TEXT URL OPTION…: the connection fails, and the tool prints this text.
refused() {
    local name=$1 text=$2 status=1
    shift 2
    if ! timeout 120 "$HOLDFAST" connect -x 'two at once' --wait 0.2 "$@" > "$work/output" 2>&1 && grep -q "$text" "$work/output"; then
        status=0
    fi
    report $status "$name"
}

# suite NAME URL OPTION…: every check of our peer's suite passes.
suite() {
    local name=$1 status=0
    shift
    timeout 120 "$PEER" suite "$@" > "$work/output" 2>&1 || status=$?
    report $status "$name"
}

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1,DNS:localhost \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2> /dev/null
cat "$work/cert.pem" "$work/key.pem" > "$work/both.pem"
ca=$work/cert.pem
tls=(--tls-cert "$work/cert.pem" --tls-key "$work/key.pem")

hypercorn=$(free_port)
start hypercorn "$hypercorn" env PYTHONPATH="$ROOT/Interop/http2" PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -m hypercorn \
    --bind "127.0.0.1:$hypercorn" --certfile "$work/cert.pem" --keyfile "$work/key.pem" echo:app
url=wss://127.0.0.1:$hypercorn
talks 'hypercorn: HTTP/2' hypercorn 2 "$url/" --ca "$ca" --http2
talks 'hypercorn: HTTP/2 by choice of both' hypercorn 2 "$url/" --ca "$ca" --http-auto
talks 'hypercorn: HTTP/1.1 by default' hypercorn 1 "$url/" --ca "$ca"
refused 'hypercorn: a refusal' '403' "$url/closed" --ca "$ca" --http2

secure=$(free_port)
start secure "$secure" "$HOLDFAST" serve echo --port "$secure" --http-auto "${tls[@]}"
plain=$(free_port)
start plain "$plain" "$HOLDFAST" serve echo --port "$plain" --http-auto
talks 'ours: HTTP/2 over TLS' secure 2 "wss://127.0.0.1:$secure/" --ca "$ca" --http2
talks 'ours: HTTP/2 by prior knowledge' plain 2 "ws://127.0.0.1:$plain/" --http2
talks 'ours: HTTP/1.1 by default' secure 1 "wss://127.0.0.1:$secure/" --ca "$ca"

# HAProxy converts between the versions, in both directions.
to_http1=$(free_port)
to_http2=$(free_port)
suite_to_http1=$(free_port)
suite_to_http2=$(free_port)
peer_http1='' peer_http2=''
echo_server peer_http1
echo_server peer_http2 --http2
cat > "$work/haproxy.cfg" << CONFIG
defaults
    mode http
    timeout connect 10s
    timeout client 60s
    timeout server 60s
    timeout tunnel 10m
frontend to_http1
    bind 127.0.0.1:$to_http1 ssl crt $work/both.pem alpn h2,http/1.1
    use_backend nobody if { path_beg /nobody }
    default_backend http1
backend http1
    server ours 127.0.0.1:$plain ws h1
backend nobody
    server none 127.0.0.1:1
frontend to_http2
    bind 127.0.0.1:$to_http2
    default_backend http2
backend http2
    server ours 127.0.0.1:$secure ssl verify none alpn h2 ws h2
frontend suite_to_http1
    bind 127.0.0.1:$suite_to_http1 ssl crt $work/both.pem alpn h2
    default_backend suite_http1
backend suite_http1
    server ours 127.0.0.1:$peer_http1
frontend suite_to_http2
    bind 127.0.0.1:$suite_to_http2
    default_backend suite_http2
backend suite_http2
    server ours 127.0.0.1:$peer_http2 proto h2
CONFIG
start haproxy "$to_http1" haproxy -db -f "$work/haproxy.cfg"
talks 'HAProxy as a server: HTTP/2, and HTTP/1.1 behind it' plain 1 "wss://127.0.0.1:$to_http1/" --ca "$ca" --http2
refused 'HAProxy as a server: no server behind it' '503' "wss://127.0.0.1:$to_http1/nobody" --ca "$ca" --http2
talks 'HAProxy as a client: HTTP/1.1, and HTTP/2 behind it' secure 2 "ws://127.0.0.1:$to_http2/"
suite 'HAProxy as a server: the suite' "wss://127.0.0.1:$suite_to_http1" --ca "$ca" --http2
suite 'HAProxy as a client: the suite' "ws://127.0.0.1:$suite_to_http2"

before=$(opened secure)
timeout 120 "$PYTHON" "$ROOT/Interop/http2/chromium.py" "https://localhost:$secure/" 'from a page' > "$work/output" 2>&1 || true
after=$(opened secure)
status=1
if grep -qx 'from a page 1000' "$work/output" && [ "${after% *}" -gt "${before% *}" ]; then status=0; fi
report $status 'Chromium: a page and its WebSocket on one HTTP/2 connection'

finish
