#!/bin/bash
# Our Socket.IO client with python-socketio 5 and, for protocol 4, python-socketio 4; see ../README.md.
#
#   Interop/socketio/run.sh [rows] [tool] [cuts]     (no argument: all)
#
# CUTS and KILLS change how often connections are cut and the server is killed with -9. HOLDFAST_BIN names a program with our peer's
# commands, HOLDFAST the tool. Without them the release builds are made first.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
CUTS=${CUTS:-200} KILLS=${KILLS:-10}
parts=${*:-rows tool cuts}

need_socketio
PEER=$(swift_program HOLDFAST_BIN HoldfastPeer)
HOLDFAST=$(swift_program HOLDFAST holdfast)
HERE=$ROOT/Interop/socketio
export PYTHONDONTWRITEBYTECODE=1

if [[ " $parts " == *" rows "* ]]; then
    port=$(free_port)
    launch "$port" "$PYTHON" "$HERE/server.py" "$port" "$work/rows.txt"
    old=$(free_port)
    launch "$old" "$OLD_SOCKETIO_PYTHON" "$HERE/server.py" "$old" "$work/old.txt"
    await_all
    for transport in webSocket pollingThenWebSocket polling; do
        tally timeout 300 "$PEER" socketio-rows "$port" $transport --protocol 5
        tally timeout 300 "$PEER" socketio-rows "$old" $transport --protocol 4
    done
    # The snippet of the documentation, at the same server.
    snippet=$(dirname "$PEER")/SocketIOEvents
    if [ -x "$snippet" ]; then
        status=0
        timeout 60 "$snippet" "http://127.0.0.1:$port" > "$work/output" 2>&1 || status=$?
        grep -q '^hi 3' "$work/output" && grep -q '^it is number' "$work/output" && grep -q '^over polling 1' "$work/output" && grep -q '^closed' "$work/output" || status=1
        report $status "the snippet of the documentation runs to its end"
    fi
fi
if [[ " $parts " == *" tool "* ]]; then
    port=$(free_port)
    launch "$port" "$PYTHON" "$HERE/server.py" "$port" "$work/tool.txt"
    old=$(free_port)
    launch "$old" "$OLD_SOCKETIO_PYTHON" "$HERE/server.py" "$old" "$work/old.txt"
    await_all
    url=http://127.0.0.1:$port
    for transport in --websocket --upgrade --polling; do
        prints "emit $transport prints the acknowledgement" 0 $'^\\["hi",3,{"a":null}\\]\n$' socketio emit "$url" ask hi 3 '{"a":null}' --ack $transport
    done
    prints "emit without an acknowledgement" 0 'sent "42' socketio emit "$url" drop 1 --trace
    prints "emit with retries" 0 $'^\\[1\\]\n$' socketio emit "$url" ask 1 --retries 2
    prints "an acknowledgement that does not come" 8 'not acknowledged in time' socketio emit "$url" silent --ack --patience 0.5
    prints "a namespace that wants a payload" 3 'not authorized' socketio emit "$url" echo 1 --namespace /chat
    prints "a payload" 0 $'^\\["auth",{"token":"x"}\\]\n$' socketio on "$url" auth --count 1 --auth '{"token":"x"}'
    HOLDFAST_SOCKETIO_AUTH='{"token":"y"}' prints "a payload from the environment" 0 '"token":"y"' socketio on "$url" --count 1
    printf '%s\n' 'echo "hi there" {"a": [1, 2]} word' '' 'ask? 7' '"question-me"' > "$work/lines"
    input=$work/lines prints "connect: lines are events" 0 $'\nechoed "hi there" {"a":\\[1,2\\]} "word"\n' socketio connect "$url"
    input=$work/lines prints "connect: acknowledgements" 0 $'\nask\\? 7\n' socketio connect "$url"
    input=$work/lines prints "connect: the server's question" 0 $'\nquestion {"n":1} ' socketio connect "$url" --polling
    input=$work/lines prints "connect --trace shows packets" 0 'sent "42' socketio connect "$url" --trace
    for transport in --websocket --upgrade --polling; do
        prints "emit $transport, protocol 4" 0 $'^\\["hé",3\\]\n$' socketio emit "http://127.0.0.1:$old" ask hé 3 --ack --protocol 4 $transport
    done
    prints "protocol 5 at a server of protocol 4" 3 '400' socketio emit "http://127.0.0.1:$old" x --patience 1
    prints "protocol 4 at a server of protocol 5" 3 '400' socketio emit "$url" x --patience 1 --protocol 4
    prints "no server" 4 '' socketio emit http://127.0.0.1:1 x --patience 1
    prints "another scheme" 64 'ws: or wss:' socketio emit ftp://127.0.0.1 x
    diagnose "an endpoint of Engine.IO is recognised" "seen['engineIO']['pingIntervalMs'] == 1000 and seen['engineIO']['maxPayload'] == 1000000 and 'engineIO.connected' in found and 'engineIO.noRecovery' in found" \
        "ws://127.0.0.1:$port/socket.io/?EIO=4&transport=websocket"
    diagnose "a server of protocol 4" "seen['engineIO']['version'] == 3 and 'engineIO.connected' in found and 'engineIO.old' in found" \
        "ws://127.0.0.1:$old/socket.io/?EIO=3&transport=websocket"
    diagnose "a URL without the query" "'engineIO.spoken' in found and 'engineIO.query' in found" "ws://127.0.0.1:$port/socket.io/"
fi
if [[ " $parts " == *" cuts "* ]]; then
    for transport in webSocket pollingThenWebSocket polling; do
        tally timeout 600 "$PEER" socketio-cuts "$work/$transport.txt" "$PYTHON" "$HERE/server.py" $transport --protocol 5 --cuts "$CUTS" --kills "$KILLS"
    done
    tally timeout 600 "$PEER" socketio-cuts "$work/old.txt" "$OLD_SOCKETIO_PYTHON" "$HERE/server.py" pollingThenWebSocket --protocol 4 --cuts "$CUTS" --kills "$KILLS"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
