#!/bin/bash
# Runs `holdfast connect` and `holdfast pin` against other TLS implementations, valid and invalid: nginx in front of Python `websockets`,
# Python itself for client certificates, and websocketd with Go's TLS. The certificates are made for the run.
#
#   Interop/tls/run.sh [--texts]     (--texts shows the tool's text for each failure)
#
# HOLDFAST names the tool. Without it the release build is made first.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
need_tls
HOLDFAST=$(swift_program HOLDFAST holdfast)
here=$ROOT/Interop
shows_texts=${1:-}
export NO_COLOR=1

# free_ports COUNT: this number of different free ports.
free_ports() {
    python3 -c '
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for each in sockets: each.bind(("127.0.0.1", 0))
print(*(each.getsockname()[1] for each in sockets))' "$1"
}

# tool COMMAND URL OPTION…: runs the tool. Its output is in $work/output, its status in $status.
tool() {
    status=0
    timeout 120 "$HOLDFAST" "$@" > "$work/output" 2>&1 || status=$?
}
hello() { tool connect "$@" -x 'over the hills' --wait "${patience:-0.1}"; }

# opens NAME URL OPTION…: a message comes back. The check is repeated with more time, because the machine may be busy.
opens() {
    local name=$1 result=1 patience
    shift
    for patience in 0.1 20; do
        hello "$@"
        [ "$status" = 0 ] || break
        if grep -qx 'over the hills' "$work/output"; then
            result=0
            break
        fi
    done
    report $result "$name"
}

# fails NAME STATUS TEXT… -- URL OPTION…: the tool ends with this status, and prints all of the texts.
fails() {
    local name=$1 wanted=$2 texts=() result=0 text
    shift 2
    while [ "$1" != -- ]; do
        texts+=("$1")
        shift
    done
    shift
    hello "$@"
    # shellcheck disable=SC2053  # The status may be a pattern.
    [[ $status == $wanted ]] || result=1
    for text in "${texts[@]}"; do grep -qF -- "$text" "$work/output" || result=1; done
    report $result "$name"
}

says() { if grep -qF -- "$2" "$work/output"; then report 0 "$1"; else report 1 "$1"; fi; }
same() { if [ "$2" = "$3" ]; then report 0 "$1"; else report 1 "$1"; fi; }

files=$work/certificates
mkdir "$files"
"$here/tls/certificates.sh" "$files"
key_pin() {
    openssl x509 -in "$files/$1.pem" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | openssl base64 -A
}

# --- nginx: one process, a port for each case, and one echo server behind all
declare -A at
read -ra free <<< "$(free_ports 13)"
start python "$PYTHON" "$here/peers/python.py" echo-server
upstream=$port
access=$work/access.log

# server CASE CERTIFICATE KEY [LINE]…
server() {
    local port=${free[0]} certificate=$2 key=$3
    free=("${free[@]:1}")
    at[$1]=$port
    shift 3
    printf '%s\n' 'server {' "listen 127.0.0.1:$port ssl;" "ssl_certificate $files/$certificate.pem;" "ssl_certificate_key $files/$key.key;" \
        "$@" "location / {" "proxy_pass http://127.0.0.1:$upstream;" 'proxy_http_version 1.1;' 'proxy_set_header Upgrade $http_upgrade;' \
        'proxy_set_header Connection upgrade;' '}' '}'
}
{
    printf '%s\n' 'daemon off;' 'worker_processes 1;' "pid $work/nginx.pid;" 'error_log stderr warn;' 'events {}' 'http {' \
        "access_log $access;" 'lingering_close off;'
    for kind in body proxy fastcgi uwsgi scgi; do
        printf '%s\n' "${kind/body/client_body}_temp_path $work/$kind;"
    done
    for version in 1.2 1.3; do
        for kind in ecdsa rsa; do server "$kind $version" $kind-chain $kind "ssl_protocols TLSv$version;"; done
        server "members $version" ecdsa-chain ecdsa "ssl_protocols TLSv$version;" 'ssl_verify_client on;' "ssl_client_certificate $files/root.pem;"
    done
    server 'tls 1.1' ecdsa-chain ecdsa 'ssl_protocols TLSv1.1;' 'ssl_ciphers DEFAULT@SECLEVEL=0;'
    server incomplete ecdsa ecdsa
    for kind in old early address; do server $kind $kind-chain $kind; done
    for kind in other self; do server $kind $kind $kind; done
    echo '}'
} > "$work/nginx.conf"
start nginx bash -c "echo listening ${at[self]}; PATH=\$PATH:/usr/sbin exec nginx -p '$work' -c '$work/nginx.conf' -e stderr"

# to CASE [HOST]: the URL of a case.
to() { echo "wss://${2:-localhost}:${at[$1]}/"; }
ca=(--ca "$files/root.pem")

for version in 1.2 1.3; do
    for kind in ecdsa rsa; do opens "nginx, TLS $version, $kind over an intermediate" "$(to "$kind $version")" "${ca[@]}"; done
done
opens 'nginx, TLS 1.3 and nothing older' "$(to 'ecdsa 1.3')" "${ca[@]}" --tls-min 1.3
fails 'nginx has only TLS 1.2, and 1.3 is required' 5 'not support TLS 1.3 or later' 'update it' 'is the option --tls-min' \
    -- "$(to 'ecdsa 1.2')" "${ca[@]}" --tls-min 1.3
fails 'nginx has TLS 1.1 only' 5 'not support TLS 1.2 or later; update it' -- "$(to 'tls 1.1')" "${ca[@]}"
fails 'Python has no TLS, and hangs up' 2 'look whether it speaks TLS at all' -- "wss://localhost:$upstream/" "${ca[@]}"

fails 'the intermediate is missing' 5 'no trusted authority vouches for `ecdsa`' '`between`, which issued it' 'send the whole chain' \
    -- "$(to incomplete)" "${ca[@]}"
fails 'expired' 5 '`old` expired on 2021-02-03' 'renew it on the server, or set the clock right' -- "$(to old)" "${ca[@]}"
fails 'not valid yet' 5 '`early` is not valid before 2090-01-01' 'set the clock right' -- "$(to early)" "${ca[@]}"
fails 'for another host' 5 'is for other.example, not for localhost' 'is the option --server-name' -- "$(to other)" "${ca[@]}"
opens 'for another host, with --server-name' "$(to other)" "${ca[@]}" --server-name other.example
fails 'the wrong --server-name' 5 'is for localhost, not for other.example' -- "$(to 'ecdsa 1.3')" "${ca[@]}" --server-name other.example
opens 'for the address' "$(to address 127.0.0.1)" "${ca[@]}"
fails 'for the address instead of the name' 5 'is for other.example, 127.0.0.1, not for localhost' -- "$(to address)" "${ca[@]}"
fails 'self-signed' 5 '`self` is self-signed' 'is the option --ca, with a PEM file' -- "$(to self)"
opens 'self-signed, and trusted' "$(to self)" --ca "$files/self.pem"
fails 'self-signed and trusted, for another host' 5 'is for localhost, not for 127.0.0.1' -- "$(to self 127.0.0.1)" --ca "$files/self.pem"
fails 'an authority unknown to the system' 5 'no trusted authority vouches for `between`' 'is the option --ca, with a PEM file' \
    -- "$(to 'ecdsa 1.3')"
fails 'another authority is trusted' 5 'no trusted authority vouches for' -- "$(to 'rsa 1.2')" --ca "$files/stranger.pem"
opens 'expired, with all checks off' "$(to old)" --insecure
says '--insecure warns' 'NOT checked'

# --- Pins as the tool prints them
tool pin "$(to 'ecdsa 1.3')" "${ca[@]}"
mapfile -t pins < <(grep -o 'sha256/[^"]*' "$work/output")
same 'pin prints the same pins as openssl for the server, the intermediate and the root' "${pins[*]}" \
    "sha256/$(key_pin ecdsa) sha256/$(key_pin between) sha256/$(key_pin root)"
tool pin "$(to 'ecdsa 1.3')" "${ca[@]}" --json
whole=$(grep -om 1 'cert-sha256/[^"]*' "$work/output")
nobody=sha256/$(key_pin stranger)
for version in 1.2 1.3; do
    url=$(to "ecdsa $version")
    for index in 0 1 2; do opens "TLS $version, pin $index of the chain" "$url" "${ca[@]}" --pin "${pins[index]}"; done
    opens "TLS $version, a backup first" "$url" "${ca[@]}" --pin "$nobody" --pin "${pins[0]}"
    : > "$access"
    fails "TLS $version, none of the pins" 5 'none of the pins for localhost' "${pins[0]} (\`ecdsa\`)" 'update the pins (holdfast pin)' \
        -- "$url" "${ca[@]}" --pin "$nobody" --bearer sesame
    same "TLS $version, none of the pins: nginx got no request" "$(cat "$access")" ''
    opens "TLS $version, none of the pins, to be reported only" "$url" "${ca[@]}" --pin "$nobody" --pin-report-only
    says "TLS $version, --pin-report-only warns" 'WARNING: the chain of localhost has none of the pins'
done
opens 'the pin of a whole certificate' "$(to 'ecdsa 1.2')" "${ca[@]}" --pin "$whole"
fails 'a pin does not replace an authority' 5 'no trusted authority vouches for' -- "$(to 'ecdsa 1.3')" --pin "${pins[0]}"
fails 'a pin does not replace the host name' 5 'is for other.example' -- "$(to other)" "${ca[@]}" --pin "sha256/$(key_pin other)"

# --- Client certificates
mine=(--cert "$files/client.pem" --key "$files/client.key")
strange=(--cert "$files/strange.pem" --key "$files/strange.key")
for version in 1.2 1.3; do
    url=$(to "members $version")
    opens "nginx, TLS $version, a client certificate" "$url" "${ca[@]}" "${mine[@]}"
    fails "nginx, TLS $version, no client certificate" 3 '400 Bad Request; it had asked for a client certificate and got none' \
        'is the option --cert, and --key' -- "$url" "${ca[@]}"
    fails "nginx, TLS $version, a client certificate of another authority" 3 '400 Bad Request' 'look whether TLSOptions.identity is what it accepts' \
        -- "$url" "${ca[@]}" "${strange[@]}"

    start guarded "$PYTHON" "$here/peers/python.py" echo-server --tls-cert "$files/ecdsa-chain.pem" --tls-key "$files/ecdsa.key" \
        --tls-client-ca "$files/root.pem" --tls-version "$version"
    url=wss://localhost:$port/
    opens "Python, TLS $version, a client certificate" "$url" "${ca[@]}" "${mine[@]}"
    HOLDFAST_PASSPHRASE=sesame opens "Python, TLS $version, one whose key is locked" "$url" "${ca[@]}" --cert "$files/client.pem" \
        --key "$files/client-locked.key"
    for kind in client client-old; do
        HOLDFAST_PASSPHRASE=sesame opens "Python, TLS $version, one in PKCS#12, $kind" "$url" "${ca[@]}" --cert "$files/$kind.p12"
    done
    # Python's asyncio closes without the alert that gives the reason.
    fails "Python, TLS $version, no client certificate" 2 'it had asked for a client certificate and got none' 'is the option --cert, and --key' \
        -- "$url" "${ca[@]}"
    fails "Python, TLS $version, a client certificate of another authority" 2 'look whether TLSOptions.identity is what it accepts' \
        -- "$url" "${ca[@]}" "${strange[@]}"

    port=$(free_ports 1)
    start openssl bash -c "echo listening $port; exec openssl s_server -quiet -www -accept 127.0.0.1:$port -tls${version/./_} -Verify 2 \
        -verify_return_error -CAfile '$files/root.pem' -cert '$files/ecdsa.pem' -cert_chain '$files/between.pem' -key '$files/ecdsa.key'"
    # With TLS 1.3 the request is already sent, and a reset may overtake the alert. Then the connection counts as lost (2).
    refusal='5' advice='ask its operator which authority must have issued it'
    if [ "$version" = 1.3 ]; then refusal='[25]' advice='client certificate'; fi
    fails "OpenSSL, TLS $version, no client certificate" "$refusal" 'client certificate' 'give it one in TLSOptions.identity' \
        'is the option --cert, and --key' -- "wss://localhost:$port/" "${ca[@]}"
    fails "OpenSSL, TLS $version, a client certificate of another authority" "$refusal" "$advice" \
        -- "wss://localhost:$port/" "${ca[@]}" "${strange[@]}"
done
HOLDFAST_PASSPHRASE=hush fails 'a wrong passphrase' 64 'incorrect password; are passphrase and key right?' -- "$url" "${ca[@]}" --cert "$files/client.p12"
same 'the password is not printed' "$(grep -c hush "$work/output" || true)" 0
fails 'the key of another certificate' 64 'does the key belong to the client certificate' -- "$url" "${ca[@]}" --cert "$files/client.pem" \
    --key "$files/strange.key"

# --- Our own servers, tested with OpenSSL, which accepts everything
# agrees PORT VERSION: whether a server supports this version in OpenSSL's notation.
agrees() {
    timeout 20 openssl s_client -connect "127.0.0.1:$1" "-$2" -cipher DEFAULT@SECLEVEL=0 < /dev/null > "$work/output" 2>&1
}
# An OpenSSL without TLS 1.0 and 1.1 would pass every server.
for version in tls1 tls1_1; do
    port=$(free_ports 1)
    start lenient bash -c "echo listening $port; exec openssl s_server -quiet -www -accept 127.0.0.1:$port -$version -cipher DEFAULT@SECLEVEL=0 \
        -cert '$files/ecdsa.pem' -cert_chain '$files/between.pem' -key '$files/ecdsa.key'"
    result=0
    agrees "$port" $version || result=1
    report $result "OpenSSL speaks $version with a server that allows it"
done
for kind in echo quotes wamp hub; do
    for minimum in 1.2 1.3; do
        own=(--quiet --tls-cert "$files/ecdsa-chain.pem" --tls-key "$files/ecdsa.key")
        if [ $kind = hub ]; then own+=(--dev --data "$work/hub-$minimum"); fi
        if [ $minimum = 1.3 ]; then own+=(--tls-min 1.3); fi
        port=$(free_ports 1)
        launch "$port" "$HOLDFAST" serve $kind --port "$port" "${own[@]}"
        await_all
        for version in tls1 tls1_1 tls1_2 tls1_3; do
            wanted=0 result=0
            if [[ $version < tls1_2 || ( $minimum = 1.3 && $version = tls1_2 ) ]]; then wanted=1; fi
            agrees "$port" $version || result=1
            if [ $wanted = $result ]; then result=0; else result=1; fi
            report $result "serve $kind from TLS $minimum on: $version is $([ $wanted = 0 ] && echo accepted || echo refused)"
        done
    done
done

# --- Another TLS implementation
port=$(free_ports 1)
start websocketd bash -c "echo listening $port; exec websocketd --address=127.0.0.1 --port=$port --ssl --sslcert='$files/ecdsa-chain.pem' \
    --sslkey='$files/ecdsa.key' --loglevel=error cat"
opens 'websocketd, the TLS of Go' "wss://localhost:$port/" "${ca[@]}" --pin "${pins[1]}" --tls-min 1.3 --no-compression
fails 'websocketd, none of the pins' 5 'none of the pins for localhost' -- "wss://localhost:$port/" "${ca[@]}" --pin "$nobody"
port=$(free_ports 1)
start websocketd bash -c "echo listening $port; exec websocketd --address=127.0.0.1 --port=$port --loglevel=error cat"
fails 'websocketd has no TLS, and answers' 5 'what the server sends is not TLS' 'use ws:' -- "wss://localhost:$port/" "${ca[@]}"

finish
