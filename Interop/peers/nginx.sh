#!/bin/bash
# nginx as a peer that ends TLS in front of an echo server.
#   nginx.sh echo-server --tls-cert FILE --tls-key FILE --upstream PORT [--read-timeout TIME]
set -euo pipefail
shift
read_timeout=60s
while [ $# -gt 0 ]; do
    case $1 in
        --tls-cert) certificate=$(realpath "$2") ;;
        --tls-key) key=$(realpath "$2") ;;
        --upstream) upstream=$2 ;;
        --read-timeout) read_timeout=$2 ;;
    esac
    shift 2
done
directory=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat > "$directory/nginx.conf" <<END
daemon off;
worker_processes 1;
pid $directory/nginx.pid;
error_log stderr warn;
events {}
http {
    access_log off;
    client_body_temp_path $directory/body;
    proxy_temp_path $directory/proxy;
    fastcgi_temp_path $directory/fastcgi;
    uwsgi_temp_path $directory/uwsgi;
    scgi_temp_path $directory/scgi;
    server {
        listen 127.0.0.1:$port ssl;
        ssl_certificate $certificate;
        ssl_certificate_key $key;
        location / {
            proxy_pass http://127.0.0.1:$upstream;
            proxy_http_version 1.1;
            proxy_read_timeout $read_timeout;
            proxy_set_header Upgrade \$http_upgrade;
            proxy_set_header Connection upgrade;
            proxy_set_header Host \$host;
        }
    }
}
END
echo "listening $port"
PATH=$PATH:/usr/sbin exec nginx -p "$directory" -c "$directory/nginx.conf" -e stderr
