#!/bin/bash
# websocketd as a peer: each connection has its own `cat`, so every line of text comes back as a message.
#   websocketd.sh echo-server
set -euo pipefail
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
echo "listening $port"
exec websocketd --address 127.0.0.1 --port "$port" --loglevel fatal cat
