#!/bin/bash
# Lets `holdfast connect` pass an nginx that requires Basic authentication, or a cookie that it has set itself.
#
#   Interop/guards/run.sh
#
# HOLDFAST names the tool. Without it the release build is made first.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
need_proxies
HOLDFAST=$(swift_program HOLDFAST holdfast)

serve echo_server
certificate server
ca=$work/server.pem
port=$(free_port) tls=$(free_port)
printf 'somebody:%s\n' "$(openssl passwd -apr1 -stdin <<< p-ss)" > "$work/passwords"
chmod 644 "$work/passwords"
cat > "$work/nginx.conf" <<END
daemon off;
worker_processes 1;
pid $work/nginx.pid;
error_log stderr warn;
events {}
http {
    log_format cookies '\$uri \$status [\$http_cookie]';
    access_log $work/cookies.log cookies;
    client_body_temp_path $work/body;
    proxy_temp_path $work/proxy;
    fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi;
    scgi_temp_path $work/scgi;
    proxy_http_version 1.1;
    proxy_set_header Upgrade \$http_upgrade;
    proxy_set_header Connection upgrade;
    server {
        listen 127.0.0.1:$port;
        listen 127.0.0.1:$tls ssl;
        ssl_certificate $ca;
        ssl_certificate_key $work/server.key;
        location /guarded {
            auth_basic "the cave";
            auth_basic_user_file $work/passwords;
            proxy_pass http://${echo_server#ws://}echo;
        }
        location /login {
            add_header Set-Cookie "ticket=open-sesame; Path=/feed; Max-Age=600; HttpOnly; SameSite=Lax";
            add_header Set-Cookie "stolen=1; Domain=example.com";
            return 302 /feed/;
        }
        location /secret {
            add_header Set-Cookie "secret=1; Path=/; Secure" always;
            return 403;
        }
        location /logout {
            add_header Set-Cookie "ticket=; Path=/feed; Expires=Thu, 01 Jan 1970 00:00:00 GMT" always;
            return 403;
        }
        location /feed {
            if (\$cookie_ticket != open-sesame) { return 403; }
            add_header Set-Cookie "seen=1" always;
            proxy_pass http://${echo_server#ws://}echo;
        }
    }
}
END
launch "$port" nginx -p "$work" -c "$work/nginx.conf" -e stderr
await_all
site=ws://127.0.0.1:$port
secure=wss://127.0.0.1:$tls

directly 'Basic authentication' "$site/guarded" --basic somebody:p-ss
directly 'Basic authentication over wss' "$secure/guarded" --ca "$ca" --basic somebody:p-ss
printf 'p-ss\n' > "$work/password"
directly 'the password in a file' "$site/guarded" --basic somebody --password-file "$work/password"
HOLDFAST_PASSWORD=p-ss directly 'the password in the environment' "$site/guarded" --basic somebody
refused 'no credentials' '401 Unauthorized' "$site/guarded"
refused 'wrong credentials' '401 Unauthorized' "$site/guarded" --basic nobody:p-ss
refused 'no password' 'there is no password' "$site/guarded" --basic somebody

jar=$work/cookies.json
# last CHECK: the last request at nginx equals "URI STATUS [COOKIES]".
last() {
    local status=1
    if [ "$(tail -n 1 "$work/cookies.log")" = "$1" ]; then status=0; fi
    tail -n 1 "$work/cookies.log" > "$work/output"
    report $status "    nginx saw $1"
}
refused 'a refusal without a cookie, which sets another cookie' '403 Forbidden' "$site/feed/" --cookies "$jar"
last '/feed/ 403 [-]'
directly 'a redirect sets a cookie' "$site/login" --follow --cookies "$jar"
last '/feed/ 101 [seen=1; ticket=open-sesame]'
directly 'the cookie file keeps the cookie' "$site/feed/" --cookies "$jar"
last '/feed/ 101 [seen=1; ticket=open-sesame]'
directly 'the cookie is sent over wss' "$secure/feed/" --ca "$ca" --cookies "$jar"
refused 'a refusal sets a Secure cookie' '403 Forbidden' "$secure/secret" --ca "$ca" --cookies "$jar"
directly 'the Secure cookie is sent over wss' "$secure/feed/" --ca "$ca" --cookies "$jar"
last '/feed/ 101 [seen=1; ticket=open-sesame; secret=1]'
directly 'the Secure cookie is not sent over ws' "$site/feed/" --cookies "$jar"
last '/feed/ 101 [seen=1; ticket=open-sesame]'
refused 'another path gets no cookie' '403 Forbidden' "$site/secret" --cookies "$jar"
last '/secret 403 [-]'
directly 'another file starts without cookies' "$site/login" --follow --cookies "$work/other.json"
refused 'without a file no cookie is kept' '403 Forbidden' "$site/feed/"
refused 'a server deletes the cookie' '403 Forbidden' "$site/logout" --cookies "$jar"
refused 'the deleted cookie is not sent' '403 Forbidden' "$site/feed/" --cookies "$jar"
last '/feed/ 403 [seen=1]'
finish
