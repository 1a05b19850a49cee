#!/bin/bash
# Lets `holdfast connect` go through real proxies from Debian: tinyproxy, also behind stunnel for TLS, and microsocks.
#
#   Interop/proxies/run.sh
#
# HOLDFAST names the tool; without it the release build is made first.
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
need_apt tinyproxy-bin microsocks stunnel4 openssl python3
HOLDFAST=$(swift_program HOLDFAST holdfast)
unset http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY REQUEST_METHOD

work=$(mktemp -d)
started=()
passed=0
failed=0
stop_all() {
    local pid
    for pid in "${started[@]}"; do kill "$pid" 2> /dev/null || true; done
    for pid in "${started[@]}"; do wait "$pid" 2> /dev/null || true; done
}
trap 'stop_all; rm -rf "$work"' EXIT

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# start PORT COMMAND…: starts a server in the background and waits until it takes connections.
start() {
    local port=$1
    shift
    "$@" > "$work/${1##*/}.$port.log" 2>&1 &
    local pid=$!
    started+=("$pid")
    for _ in {1..600}; do
        if (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then return 0; fi
        kill -0 "$pid" 2> /dev/null || break
        sleep 0.05
    done
    die "$1 does not start: $(tail -n 1 "$work/${1##*/}.$port.log")"
}

# serve VARIABLE OPTION…: starts an echo server of ours and keeps its URL in the variable.
serve() {
    local -n result=$1
    local log="$work/server.$1"
    shift
    : > "$log"
    "$HOLDFAST" serve echo --quiet "$@" > "$log" 2> "$log.errors" &
    started+=($!)
    for _ in {1..600}; do
        result=$(head -n 1 "$log")
        if [ -n "$result" ]; then return 0; fi
        sleep 0.05
    done
    die "the server does not start: $(cat "$log.errors")"
}

# tinyproxy_config PORT [LINE]…: a proxy that listens there, with these lines.
tinyproxy_config() {
    local port=$1
    shift
    printf '%s\n' "Port $port" 'Listen 127.0.0.1' 'Timeout 600' 'MaxClients 50' 'LogLevel Connect' "$@" > "$work/tinyproxy.$port"
    echo "$work/tinyproxy.$port"
}

report() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
        echo "ok $2"
    else
        failed=$((failed + 1))
        echo "not ok $2"
        sed 's/^/    /' "$work/output"
    fi
}

# through NAME LOG TEXT URL OPTION…: what is sent through the proxy comes back, and its log says that it was there.
through() {
    local name=$1 log=$2 mark=$3 before after status=1
    shift 3
    before=$(grep -c "$mark" "$log" || true)
    timeout 120 "$HOLDFAST" connect -x 'over the hills' --wait 0.2 "$@" > "$work/output" 2>&1 || true
    after=$(grep -c "$mark" "$log" || true)
    if grep -qx 'over the hills' "$work/output" && [ "$after" -gt "$before" ]; then status=0; fi
    report $status "$name"
}

# directly NAME URL OPTION…: what is sent comes back.
directly() {
    local name=$1 status=1
    shift
    timeout 120 "$HOLDFAST" connect -x 'over the hills' --wait 0.2 "$@" > "$work/output" 2>&1 || true
    if grep -qx 'over the hills' "$work/output"; then status=0; fi
    report $status "$name"
}

# refused NAME TEXT URL OPTION…: there is no connection, and the tool says this, but never the password.
refused() {
    local name=$1 text=$2 status=1
    shift 2
    if ! timeout 120 "$HOLDFAST" connect -x 'over the hills' --wait 0.2 "$@" > "$work/output" 2>&1 \
        && grep -q "$text" "$work/output" && ! grep -q 'p%2Dss\|p-ss' "$work/output"; then status=0; fi
    report $status "$name"
}

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1,DNS:localhost \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2> /dev/null
ca=$work/cert.pem
serve plain --port 0
serve secure --port 0 --tls-cert "$work/cert.pem" --tls-key "$work/key.pem"
named=${plain/127.0.0.1/localhost}
nobody=ws://127.0.0.1:$(free_port)/

http=$(free_port)
start "$http" tinyproxy -d -c "$(tinyproxy_config "$http")"
guarded=$(free_port)
start "$guarded" tinyproxy -d -c "$(tinyproxy_config "$guarded" 'BasicAuth somebody p-ss')"
closed=$(free_port)
start "$closed" tinyproxy -d -c "$(tinyproxy_config "$closed" 'ConnectPort 563')"
within_tls=$(free_port)
printf '%s\n' 'foreground = yes' 'pid =' "[proxy]" "accept = 127.0.0.1:$within_tls" "connect = 127.0.0.1:$http" "cert = $work/cert.pem" \
    "key = $work/key.pem" > "$work/stunnel.conf"
start "$within_tls" stunnel4 "$work/stunnel.conf"
socks=$(free_port)
start "$socks" microsocks -i 127.0.0.1 -p "$socks"
socks_guarded=$(free_port)
start "$socks_guarded" microsocks -i 127.0.0.1 -p "$socks_guarded" -u somebody -P p-ss

http_log=$work/tinyproxy.$http.log
guarded_log=$work/tinyproxy.$guarded.log
through 'tinyproxy: ws' "$http_log" CONNECT "$plain" --proxy "http://127.0.0.1:$http"
through 'tinyproxy: ws to a name' "$http_log" CONNECT "$named" --proxy "http://localhost:$http"
through 'tinyproxy: wss' "$http_log" CONNECT "$secure" --ca "$ca" --proxy "http://127.0.0.1:$http"
through 'tinyproxy: name and password' "$guarded_log" CONNECT "$plain" --proxy "http://somebody:p%2Dss@127.0.0.1:$guarded"
refused 'tinyproxy: no password' 'wants a name and a password' "$plain" --proxy "http://127.0.0.1:$guarded"
refused 'tinyproxy: a wrong password' 'not open the way' "$plain" --proxy "http://nobody:p%2Dss@127.0.0.1:$guarded"
refused 'tinyproxy: a port that it forbids' 'does not let us through' "$plain" --proxy "http://127.0.0.1:$closed"
refused 'tinyproxy: a server that is not there' 'could not reach the server' "$nobody" --proxy "http://127.0.0.1:$http"
through 'tinyproxy within TLS: ws' "$http_log" CONNECT "$plain" --proxy "https://127.0.0.1:$within_tls" --proxy-ca "$ca"
through 'tinyproxy within TLS: wss' "$http_log" CONNECT "$secure" --ca "$ca" --proxy "https://127.0.0.1:$within_tls" --proxy-ca "$ca"
refused 'tinyproxy within TLS: nobody vouches for it' 'TLS with the proxy' "$plain" --proxy "https://127.0.0.1:$within_tls"

socks_log=$work/microsocks.$socks.log
socks_guarded_log=$work/microsocks.$socks_guarded.log
through 'microsocks: ws' "$socks_log" connected "$plain" --proxy "socks5://127.0.0.1:$socks"
through 'microsocks: ws to a name' "$socks_log" 'connected to localhost' "$named" --proxy "socks5://127.0.0.1:$socks"
through 'microsocks: wss' "$socks_log" connected "$secure" --ca "$ca" --proxy "socks5://127.0.0.1:$socks"
through 'microsocks: name and password' "$socks_guarded_log" connected "$plain" --proxy "socks5://somebody:p%2Dss@127.0.0.1:$socks_guarded"
refused 'microsocks: no password' 'who we are' "$plain" --proxy "socks5://127.0.0.1:$socks_guarded"
refused 'microsocks: a wrong password' 'does not know this name' "$plain" --proxy "socks5://nobody:p%2Dss@127.0.0.1:$socks_guarded"
refused 'microsocks: a server that is not there' 'could not reach the server' "$nobody" --proxy "socks5://127.0.0.1:$socks"
refused 'a proxy that speaks no TLS' 'TLS with the proxy\|hung up\|connection reset' "$plain" --proxy "https://127.0.0.1:$socks"
refused 'a SOCKS proxy is no HTTP proxy' 'not answer as an HTTP proxy\|hung up' "$plain" --proxy "http://127.0.0.1:$socks"
refused 'a proxy that is not there' 'could not connect to the proxy' "$plain" --proxy "http://127.0.0.1:1"

HTTP_PROXY="http://127.0.0.1:$http" through 'HTTP_PROXY, for ws' "$http_log" CONNECT "$plain"
https_proxy="http://127.0.0.1:$http" through 'https_proxy, for wss' "$http_log" CONNECT "$secure" --ca "$ca"
ALL_PROXY="socks5://127.0.0.1:$socks" through 'ALL_PROXY' "$socks_log" connected "$plain"
export ALL_PROXY=http://127.0.0.1:1
refused 'ALL_PROXY is looked at' 'could not connect to the proxy' "$plain"
NO_PROXY=127.0.0.0/8 directly 'NO_PROXY' "$plain"
directly '--no-proxy' "$plain" --no-proxy

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
