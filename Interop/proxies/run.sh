#!/bin/bash
# Lets `holdfast connect` use real proxies of Debian: tinyproxy, squid (also over TLS), microsocks and dante.
#
#   Interop/proxies/run.sh
#
# HOLDFAST names the tool. Without it the release build is made first. dante accepts only passwords of the system's users, so only
# a wrong password is tested.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
need_proxies
HOLDFAST=$(swift_program HOLDFAST holdfast)

# through NAME LOG MARK URL OPTION…: a message sent through the proxy comes back, and the proxy's log shows it.
through() {
    local name=$1 log=$2 mark=$3 before status=1
    shift 3
    before=$(grep -c "$mark" "$log" || true)
    talk "$@" || true
    # A proxy may write its log later.
    for _ in {1..100}; do
        [ "$(grep -c "$mark" "$log" || true)" -le "$before" ] || break
        sleep 0.1
    done
    if grep -qx 'over the hills' "$work/output" && [ "$(grep -c "$mark" "$log" || true)" -gt "$before" ]; then status=0; fi
    report $status "$name"
}

# pinned NAME: `holdfast pin` prints the pin of the server's key through the proxy of the environment.
pinned() {
    local pin status=1
    pin=$(openssl x509 -in "$ca" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64)
    timeout 120 "$HOLDFAST" pin "$secure" --ca "$ca" --proxy-ca "$proxy_ca" > "$work/output" 2>&1 < /dev/null || true
    if grep -qF "$pin" "$work/output"; then status=0; fi
    report $status "$1"
}

# tinyproxy_at PORT [LINE]…: a tinyproxy on this port with these lines of configuration.
tinyproxy_at() {
    local port=$1
    shift
    printf '%s\n' "Port $port" 'Listen 127.0.0.1' 'Timeout 600' 'MaxClients 50' 'LogLevel Connect' "$@" > "$work/tinyproxy.$port"
    launch "$port" tinyproxy -d -c "$work/tinyproxy.$port"
}

# squid_at PORT TLSPORT: a squid that requires a login and refuses port 9.
squid_at() {
    local folder=$work/squid
    mkdir "$folder"
    # openssl reads the password from standard input, so that no list of processes shows it.
    printf 'somebody:%s\n' "$(openssl passwd -apr1 -stdin <<< p-ss)" > "$folder/passwords"
    chmod 644 "$folder/passwords"
    [ "$(id -u)" != 0 ] || chown -R proxy "$folder"
    cat > "$folder/conf" <<END
http_port 127.0.0.1:$1
https_port 127.0.0.1:$2 tls-cert=$work/proxy.pem tls-key=$work/proxy.key
auth_param basic program /usr/lib/squid/basic_ncsa_auth $folder/passwords
auth_param basic children 1
acl known proxy_auth REQUIRED
acl forbidden port 9
http_access deny forbidden
http_access allow known
http_access deny all
pid_filename none
cache_log $folder/cache.log
access_log stdio:$folder/access.log
logfile_rotate 0
cache deny all
cache_mem 4 MB
pinger_enable off
netdb_filename none
coredump_dir $folder
dns_timeout 2 seconds
max_filedescriptors 1024
shutdown_lifetime 0 seconds
END
    launch "$1" squid -N -f "$folder/conf"
}

# danted_at PORT METHOD: a dante with this login method that refuses port 9.
danted_at() {
    cat > "$work/danted.$1" <<END
logoutput: stderr
internal: 127.0.0.1 port = $1
external: lo
clientmethod: none
socksmethod: $2
user.unprivileged: $(id -un)
client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
socks block { from: 127.0.0.0/8 to: 0.0.0.0/0 port = 9 }
socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 log: connect }
END
    launch "$1" danted -f "$work/danted.$1"
}

certificate server
certificate proxy
ca=$work/server.pem
proxy_ca=$work/proxy.pem
open=$(free_port) tiny=$(free_port) closed=$(free_port) squid=$(free_port) tls=$(free_port)
micro=$(free_port) micro_guarded=$(free_port) dante=$(free_port) dante_guarded=$(free_port)
tinyproxy_at "$open"
tinyproxy_at "$tiny" 'BasicAuth somebody p-ss'
tinyproxy_at "$closed" 'ConnectPort 563'
squid_at "$squid" "$tls"
launch "$micro" microsocks -i 127.0.0.1 -p "$micro"
launch "$micro_guarded" microsocks -i 127.0.0.1 -p "$micro_guarded" -u somebody -P p-ss
danted_at "$dante" none
danted_at "$dante_guarded" username
serve plain
serve secure --tls-cert "$ca" --tls-key "$work/server.key"
servers=("$plain" "${plain/127.0.0.1/localhost}" "$secure")
if grep -q '^0*1 ' /proc/net/if_inet6 2> /dev/null; then
    serve sixth --host ::1
    servers+=("$sixth")
else
    echo '# this machine has no IPv6: nothing is tried over it'
fi
await_all
nobody=ws://127.0.0.1:$(free_port)/

login=somebody:p%2Dss wrong=nobody:p%2Dss
for url in "${servers[@]}"; do
    place=${url%:*} trust=()
    if [ "$url" = "$secure" ]; then trust=(--ca "$ca"); fi
    through "tinyproxy: $place" "$work/tinyproxy.$tiny.log" CONNECT "$url" --proxy "http://$login@localhost:$tiny" "${trust[@]}"
    through "squid: $place" "$work/squid/access.log" TCP_TUNNEL/200 "$url" --proxy "http://$login@127.0.0.1:$squid" "${trust[@]}"
    through "microsocks: $place" "$work/microsocks.$micro_guarded.log" connected "$url" \
        --proxy "socks5://$login@127.0.0.1:$micro_guarded" "${trust[@]}"
done
through 'tinyproxy: no login is needed' "$work/tinyproxy.$open.log" CONNECT "$plain" --proxy "http://127.0.0.1:$open"
through 'squid within TLS: ws' "$work/squid/access.log" TCP_TUNNEL/200 "$plain" --proxy "https://$login@127.0.0.1:$tls" --proxy-ca "$proxy_ca"
through 'squid within TLS: wss' "$work/squid/access.log" TCP_TUNNEL/200 "$secure" --ca "$ca" \
    --proxy "https://$login@localhost:$tls" --proxy-ca "$proxy_ca"
through 'microsocks: no login is needed' "$work/microsocks.$micro.log" connected "$plain" --proxy "socks5://127.0.0.1:$micro"
through 'dante: ws' "$work/danted.$dante.log" pass "$plain" --proxy "socks5://127.0.0.1:$dante"
through 'dante: ws to a name' "$work/danted.$dante.log" pass "${plain/127.0.0.1/localhost}" --proxy "socks5://localhost:$dante"
through 'dante: wss' "$work/danted.$dante.log" pass "$secure" --ca "$ca" --proxy "socks5://127.0.0.1:$dante"
through 'dante: an unnecessary login' "$work/danted.$dante.log" pass "$plain" --proxy "socks5://$login@127.0.0.1:$dante"

for proxy in "tinyproxy $tiny" "squid $squid"; do
    read -r name port <<< "$proxy"
    refused "$name: no password" 'wants a name and a password' "$plain" --proxy "http://127.0.0.1:$port"
    refused "$name: a wrong password" 'not open a tunnel' "$plain" --proxy "http://$wrong@127.0.0.1:$port"
    refused "$name: an unreachable server" 'could not reach the server' "$nobody" --proxy "http://$login@127.0.0.1:$port"
    refused "$name: an unknown host name" 'could not reach the server' ws://nobody.invalid/ --proxy "http://$login@127.0.0.1:$port"
done
refused 'tinyproxy: a forbidden port' 'does not let us through' "$plain" --proxy "http://127.0.0.1:$closed"
refused 'squid: a forbidden port' 'does not let us through' ws://127.0.0.1:9/ --proxy "http://$login@127.0.0.1:$squid"
HTTPS_PROXY="https://$login@127.0.0.1:$tls" pinned 'squid within TLS: pins are those of the server behind it'
refused 'squid within TLS: an untrusted proxy' 'TLS with the proxy' "$plain" --proxy "https://$login@127.0.0.1:$tls"
refused 'squid within TLS: the password is wrong' 'wants a name and a password' "$plain" \
    --proxy "https://$wrong@127.0.0.1:$tls" --proxy-ca "$proxy_ca"
refused 'squid within TLS: an untrusted server' "TLS with $secure" "$secure" \
    --proxy "https://$login@127.0.0.1:$tls" --proxy-ca "$proxy_ca"
for proxy in "microsocks $micro $micro_guarded" "dante $dante $dante_guarded"; do
    read -r name port guarded <<< "$proxy"
    refused "$name: no password" 'requires a login' "$plain" --proxy "socks5://127.0.0.1:$guarded"
    refused "$name: a wrong password" 'rejects this name' "$plain" --proxy "socks5://$wrong@127.0.0.1:$guarded"
    refused "$name: an unreachable server" 'could not reach the server' "$nobody" --proxy "socks5://127.0.0.1:$port"
    refused "$name: an unknown host name" 'could not reach the server\|without giving a reason' ws://nobody.invalid/ --proxy "socks5://127.0.0.1:$port"
done
refused 'dante: a forbidden port' 'does not let us through' ws://127.0.0.1:9/ --proxy "socks5://127.0.0.1:$dante"
refused 'a proxy without TLS' 'TLS with the proxy\|hung up\|connection reset' "$plain" --proxy "https://127.0.0.1:$micro"
refused 'a SOCKS proxy is no HTTP proxy' 'not answer as an HTTP proxy\|hung up' "$plain" --proxy "http://127.0.0.1:$micro"
refused 'an unreachable proxy' 'could not connect to the proxy' "$plain" --proxy "http://127.0.0.1:1"

HTTP_PROXY=http://127.0.0.1:$open through 'HTTP_PROXY, for ws' "$work/tinyproxy.$open.log" CONNECT "$plain"
https_proxy=http://127.0.0.1:$open through 'https_proxy, for wss' "$work/tinyproxy.$open.log" CONNECT "$secure" --ca "$ca"
ALL_PROXY=socks5://127.0.0.1:$micro through 'ALL_PROXY' "$work/microsocks.$micro.log" connected "$plain"
export ALL_PROXY=http://127.0.0.1:1
refused 'ALL_PROXY is used' 'could not connect to the proxy' "$plain"
NO_PROXY=127.0.0.0/8 directly 'NO_PROXY' "$plain"
directly '--no-proxy' "$plain" --no-proxy
finish
