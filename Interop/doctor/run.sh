#!/bin/bash
# Runs `holdfast doctor` on healthy servers, faulty servers, and addresses without a server.
#
#   Interop/doctor/run.sh
#
# HOLDFAST names the tool. Without it the release build is made first.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
need_doctor
HOLDFAST=$(swift_program HOLDFAST holdfast)
PEERS=$ROOT/Interop/peers
here=$ROOT/Interop/doctor

export TMPDIR=$work

# diagnose NAME STATUS EXPRESSION URL OPTION…: the doctor ends with the status, and the expression is true for its report, see judge.py.
diagnose() {
    local name=$1 wanted=$2 expression=$3 status=0
    shift 3
    timeout 120 "$HOLDFAST" doctor --json "$@" > "$work/report" 2> "$work/errors" || status=$?
    if [ "$status" != "$wanted" ]; then
        { echo "ended with $status, not with $wanted"; cat "$work/errors"; grep -A 6 '"broken"' "$work/report"; } > "$work/output"
        report 1 "$name"
    elif python3 "$here/judge.py" "$work/report" "$expression" > "$work/output" 2>&1; then
        report 0 "$name"
    else
        report 1 "$name"
    fi
}

# says NAME STATUS TEXT URL OPTION…: the printed report contains this line, and no terminal control characters.
says() {
    local name=$1 wanted=$2 text=$3 status=0
    shift 3
    timeout 120 "$HOLDFAST" doctor "$@" > "$work/output" 2>&1 || status=$?
    if [ "$status" = "$wanted" ] && grep -qF -- "$text" "$work/output" && ! grep -q $'\e\|\a' "$work/output"; then report 0 "$name"; else report 1 "$name"; fi
}

# --- Certificates: a root, an intermediate, and server certificates.
openssl_quietly() { openssl "$@" 2> "$work/openssl" || die "openssl $1: $(cat "$work/openssl")"; }
cd "$work"
openssl_quietly req -x509 -newkey rsa:2048 -nodes -days 30 -subj '/CN=Doctor test root' -keyout root.key -out root.pem
# certificate NAME ISSUER DAYS KEY EXTENSIONS: makes NAME.pem and NAME.key.
certificate() {
    openssl_quietly req -newkey "$4" ${6:+-pkeyopt "$6"} -nodes -subj "/CN=Doctor test $1" -keyout "$1.key" -out "$1.csr"
    printf '%b\n' "$5" > "$1.ext"
    openssl_quietly x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -set_serial "$RANDOM$RANDOM" -days "$3" -extfile "$1.ext" -out "$1.pem"
}
here_names='subjectAltName=IP:127.0.0.1,DNS:localhost'
certificate between root 30 rsa:2048 'basicConstraints=critical,CA:true'
certificate leaf between 30 ec "$here_names" ec_paramgen_curve:prime256v1
certificate soon root 5 rsa:2048 "$here_names"
certificate expired root -1 rsa:2048 "$here_names"
certificate elsewhere root 30 rsa:2048 'subjectAltName=DNS:other.example'
certificate client root 30 ec 'extendedKeyUsage=clientAuth' ec_paramgen_curve:prime256v1
cat leaf.pem between.pem > chain.pem

# --- Healthy servers
start node "$PEERS/node.js" echo-server
node=ws://127.0.0.1:$port/
start python "$PYTHON" "$PEERS/python.py" echo-server --max-size 1000000
python=ws://127.0.0.1:$port/
start bare "$PYTHON" "$PEERS/python.py" echo-server --no-compression
bare=ws://127.0.0.1:$port/
bare_port=$port
start websocketd "$PEERS/websocketd.sh" echo-server
websocketd=ws://127.0.0.1:$port/
start nginx "$PEERS/nginx.sh" echo-server --tls-cert "$work/chain.pem" --tls-key "$work/leaf.key" --upstream "$bare_port" --read-timeout 1s
nginx=wss://127.0.0.1:$port/
serve ours
serve ours_expired --tls-cert "$work/expired.pem" --tls-key "$work/expired.key"
serve ours_elsewhere --tls-cert "$work/elsewhere.pem" --tls-key "$work/elsewhere.key"
start broken python3 "$here/broken.py"
broken=ws://127.0.0.1:$port
start old python3 "$here/broken.py" --tls-cert "$work/soon.pem" --tls-key "$work/soon.key"
old=wss://127.0.0.1:$port

proxy=$(free_port)
printf '%s\n' "Port $proxy" 'Listen 127.0.0.1' 'Timeout 600' > tinyproxy.conf
tinyproxy -d -c tinyproxy.conf > tinyproxy.log 2>&1 &
started+=($!)

well="--patience 30 --timeout 100"
# The capabilities of an echo server.
echoes='report["isHealthy"] and all(found[f"messages.{kind}"]["severity"] == "good" for kind in
    ("text", "binary", "fragmented", "pingWithin", "empty", "invalidUTF8", "unmasked")) and seen["pings"]["answered"] == 10
    and seen["close"]["code"] == 1000 and "close.endsTCP" in found and not seen["unfinished"]'
echoes=${echoes//$'\n'/ }
# shellcheck disable=SC2086
{
    diagnose 'Node ws: all is well' 0 "$echoes and seen['messages']['binary']['kind'] == 'echoed'" "$node" $well --limit-cap 2M
    diagnose 'Node ws: compression, and no limit up to the cap' 0 \
        "found['compression.agreed'] and seen['compression']['isEchoCompressed'] and seen['compression']['sentBytes'] < 3000 and seen['limit'].get('largestTaken') == 65536 and 'limit.none' in found" \
        "$node" $well --limit-cap 64K
    diagnose 'Python websockets: all is well, and its limit is found to the byte' 0 \
        "$echoes and seen['limit']['largestTaken'] == 1000000 and seen['limit']['smallestRefused'] == 1000001 and seen['limit']['refusal']['closeCode'] == 1009" \
        "$python" $well
    diagnose 'Python websockets without compression' 0 \
        "$echoes and 'compression.declined' in found and 'compression.agreed' not in found" "$bare" $well --limit-cap 64K
    diagnose 'websocketd: lines of text, and pongs' 0 \
        "seen['messages']['text']['kind'] == 'echoed' and seen['pings']['answered'] == 10 and 'compression.declined' in found" \
        "$websocketd" $well --limit-cap 16K
    diagnose 'our server: all is well, and its limit is 1 MiB' 0 \
        "$echoes and seen['limit']['largestTaken'] == 1048576 and 'limit.found' in found" "$ours" $well
    diagnose 'our server: a name leads to it' 0 "seen['resolution']['host'] == 'localhost' and 'network.resolved' in found" \
        "${ours/127.0.0.1/localhost}" $well --limit-cap 1K
    diagnose 'nginx with TLS in front: chain, version, server' 0 \
        "$echoes and seen['security']['version'] == '1.2' and len(seen['security']['chain']) == 3 and seen['security']['chain'][0]['key'] == 'P-256' and seen['security']['chain'][0]['signature'] == 'SHA-256 with RSA' and 28 <= seen['security']['chain'][0]['daysLeft'] <= 30 and 'tls.trusted' in found and 'surroundings.intermediaries' in found and not seen['security']['choosesHTTP2'] and seen['malformed']['server'].startswith('nginx')" \
        "$nginx" $well --ca root.pem --limit-cap 64K
    diagnose 'nginx: it ends idle connections, and pings help' 0 \
        "found['idle.ends']['severity'] == 'warning' and 900 <= seen['idle']['ended']['ms'] and seen['idle']['isKeptByPings'] and 'pingInterval' in found['idle.ends']['advice']" \
        "$nginx" $well --ca root.pem --idle=20 --limit-cap 1K
    diagnose 'our server: silence does not end a connection' 0 "'idle.lives' in found" "$ours" $well --idle 1 --limit-cap 1K
    diagnose 'TLS: a certificate that ends soon, no TLS 1.3, and HTTP/2' 0 \
        "found['tls.expiry']['severity'] == 'warning' and seen['security']['version'] == '1.2' and found['tls.version']['severity'] == 'note' and seen['security']['choosesHTTP2']" \
        "$old/" $well --ca root.pem --limit-cap 1K
    HTTP_PROXY=http://somebody:p-ss@127.0.0.1:$proxy diagnose 'a proxy that the environment names, without its password' 0 \
        "found['network.proxy'] and seen['proxy']['isFromEnvironment'] and seen['upgrade']['remote'].endswith(':$proxy') and report['isHealthy'] and 'p-ss' not in repr(report)" \
        "$ours" $well --limit-cap 1K
    diagnose 'subprotocols: the last is chosen' 0 "seen['upgrade']['subprotocol'] == 'chat' and 'upgrade.subprotocol' in found and 'news' not in repr(report)" \
        "$broken/" $well --limit-cap 1K -s news -s chat
    diagnose 'subprotocols: none is chosen' 0 "'upgrade.subprotocolIgnored' in found" "$broken/no-protocol" $well --limit-cap 1K -s chat -s news
    diagnose 'intermediaries are found, and their cookies hidden' 0 \
        "any('Cloudflare' in line for line in found['surroundings.intermediaries']['details']) and any('Via: 1.1 edge' == line for line in found['surroundings.intermediaries']['details']) and 'secret' not in repr(report)" \
        "$broken/proxied" $well --limit-cap 1K
}

# --- Faulty servers
ill="--patience 2 --timeout 60 --limit-cap 64K"
# shellcheck disable=SC2086
{
    diagnose 'it never pongs' 7 "found['pings.never']['severity'] == 'broken' and 'pingMessage' in found['pings.never']['advice'] and seen['messages']['text']['kind'] == 'echoed' and seen['limit']['proof'] == 'echo'" \
        "$broken/never-pongs" $ill
    diagnose 'it never answers close' 7 "found['close.never']['severity'] == 'broken' and not seen['close']['isAnswered']" "$broken/never-closes" $ill
    diagnose 'it answers close and keeps TCP' 0 "found['close.keepsTCP']['severity'] == 'warning'" "$broken/keeps-tcp" $ill
    diagnose 'it dies on binary' 7 "seen['messages']['binary']['kind'] == 'hungUp' and seen['messages']['text']['kind'] == 'echoed' and seen['limit']['sentAs'] == 'text'" \
        "$broken/dies-on-binary" $ill
    diagnose 'it dies on fragments' 7 "found['messages.fragmented']['severity'] == 'broken' and found['messages.text']['severity'] == 'good'" \
        "$broken/no-fragments" $ill
    diagnose 'it dies on long messages' 0 "found['limit.hangsUp'] and seen['limit']['largestTaken'] == 5000 and seen['limit']['smallestRefused'] == 5001" "$broken/small" $ill
    diagnose 'it accepts invalid messages' 0 "found['messages.invalidUTF8']['severity'] == 'warning' and found['messages.unmasked']['severity'] == 'warning'" "$broken/lax" $ill
    diagnose 'it answers only pings' 0 "seen['messages']['text']['kind'] == 'silent' and seen['limit']['proof'] == 'pong'" "$broken/silent" $ill
    diagnose 'it sends without a pause' 0 "seen['pings']['answered'] == 10 and seen['pings']['messages'] > 0 and 'unasked' in found['messages.text']['text'] and seen['limit']['proof'] == 'pong'" \
        "$broken/talks" $ill
    diagnose 'it sends nothing' 7 "found['pings.never'] and found['messages.text']['severity'] == 'note' and seen['unfinished'][0]['probe'] == 'limit'" \
        "$broken/mute" --patience 1 --timeout 60
    diagnose 'it uses its own protocol' 0 "seen['messages']['text']['closeCode'] == 4400 and found['messages.text']['severity'] == 'note'" "$broken/own-protocol" $ill
    diagnose 'it drops idle connections' 0 "found['idle.ends'] and seen['idle']['ended']['kind'] == 'hungUp' and seen['idle']['isKeptByPings']" \
        "$broken/dies-idle" $ill --idle=20
    diagnose 'it answers garbage' 3 "found['upgrade.invalidHandshake']['severity'] == 'broken' and 'port' in found['upgrade.invalidHandshake']['advice']" "$broken/garbage" $ill
    diagnose 'it is a web server' 3 "seen['upgrade']['status'] == 200 and 'web server' in found['upgrade.refused']['advice']" "$broken/plain" $ill
    diagnose 'it redirects' 3 "'wss://new.example.com/' in found['upgrade.refused']['advice']" "$broken/moved" $ill
    diagnose 'it requires a token' 3 "'--bearer' in found['upgrade.refused']['advice']" "$broken/guarded" $ill
    diagnose 'it hangs up' 3 "found['upgrade.lost']" "$broken/hangs-up" $ill
    diagnose 'it sends no response' 3 "found['upgrade.timedOut']" "$broken/says-nothing" --patience 1
    diagnose 'its accept is wrong' 3 "'4.2.2' in found['upgrade.invalidHandshake']['advice']" "$broken/bad-accept" $ill
    diagnose 'no server listens' 4 "found['network.unreachable'] and not seen['upgrade']" "ws://127.0.0.1:$(free_port)/" $ill
    diagnose 'an unknown host name' 4 "found['network.unresolved']" ws://no-such-host.invalid/ --patience 20
    diagnose 'the certificate has expired' 5 "found['tls.certificateExpired'] and seen['security']['chain'][0]['daysLeft'] < 0 and not seen['upgrade']" "$ours_expired" --ca root.pem $ill
    diagnose 'the certificate is for another host' 5 "found['tls.wrongHost'] and seen['security']['chain'][0]['names'] == ['other.example']" "$ours_elsewhere" --ca root.pem $ill
    diagnose 'the authority is not trusted' 5 "found['tls.unknownAuthority']" "$nginx" $ill
    diagnose '--insecure examines the rest' 0 "found['tls.unverified'] and seen['security']['version'] == '1.3' and seen['pings']['answered'] == 10 and found['tls.expiry']['severity'] == 'warning'" "$ours_expired" --insecure $well --limit-cap 1K
    for version in 1.2 1.3; do
        start "guarded $version" "$PYTHON" "$PEERS/python.py" echo-server --tls-cert chain.pem --tls-key leaf.key --tls-client-ca root.pem \
            --tls-version "$version"
        diagnose "TLS $version, a client certificate" 0 "$echoes and 'tls.trusted' in found and len(seen['security']['chain']) == 3" \
            "wss://127.0.0.1:$port/" --ca root.pem --cert client.pem --key client.key $well --limit-cap 1K
        diagnose "TLS $version, a client certificate and --insecure" 0 "$echoes and 'tls.unverified' in found and seen['security']['chain']" \
            "wss://127.0.0.1:$port/" --insecure --cert client.pem --key client.key $well --limit-cap 1K
        diagnose "TLS $version, no client certificate" 3 "'--cert and --key' in found['upgrade.lost']['advice']" \
            "wss://127.0.0.1:$port/" --ca root.pem $ill
    done
    diagnose 'TLS on a plain port' 5 "found['tls.tls']" "${ours/ws:/wss:}" $ill
    diagnose 'the timeout ends the examination' 7 "seen['unfinished'] and seen['pings']" "$broken/mute" --patience 1 --timeout 2.5

    says 'the report gives advice' 7 '→ use an application-level ping: WebSocketConfiguration.pingMessage' "$broken/never-pongs" --patience 1 --limit-cap 1K
    says 'a close reason cannot control the terminal' 0 'no such command \u{1B}]0;pwned\u{07}\u{1B}[2J' "$broken/own-protocol" $ill
    says 'an answer cannot control the terminal' 0 'answered with the text "what? \u{1B}]0;pwned' "$broken/answers" $ill
    says 'the body of a refusal cannot control the terminal' 3 'Welcome\u{1B}[2J' "$broken/plain" $ill
}

# Control-C while it waits for the first pong.
: > "$work/broken.errors"
"$HOLDFAST" doctor --json "$broken/mute" --patience 60 --timeout 100 > "$work/report" 2> "$work/output" &
examiner=$!
started+=("$examiner")
for _ in {1..600}; do
    if grep -q '^mute' "$work/broken.errors"; then break; fi
    sleep 0.05
done
sleep 0.3
kill -INT "$examiner"
status=0
wait "$examiner" || status=$?
if [ "$status" = 130 ] && python3 "$here/judge.py" "$work/report" "report['isPartial'] and not report['isHealthy'] and found['network.resolved'] and found['upgrade.opened']" \
    > "$work/output" 2>&1; then report 0 'Control-C prints what was found'; else report 1 "Control-C prints what was found (status $status)"; fi

finish
