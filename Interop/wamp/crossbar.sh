#!/bin/bash
# Crossbar as the router of a test.
#
#   crossbar.sh start|stop|kill|restart NODE-DIRECTORY     CROSSBAR names the program
#
# The directory contains a configuration of crossbar_config.py. Its log is log.txt.
set -euo pipefail
command=$1 node=$2
log=$node/log.txt

# end SIGNAL: ends the controller and its workers, and waits until they are gone.
end() {
    local pid
    pid=$(cat "$node/pid" 2> /dev/null || true)
    [ -n "$pid" ] || return 0
    # Each leads its own process group. After SIGTERM the controller stops its workers.
    if [ "$1" = KILL ]; then kill -KILL -- "-$pid" 2> /dev/null || true; else kill "-$1" "$pid" 2> /dev/null || true; fi
    for _ in {1..100}; do
        if [ ! -e "/proc/$pid" ] || grep -q '^State:.*Z' "/proc/$pid/status" 2> /dev/null; then
            # Crossbar looks up the process that its own file names, and fails if that one is a zombie.
            rm -f "$node/pid" "$node/.crossbar/node.pid"
            return 0
        fi
        sleep 0.1
    done
    return 1
}

start() {
    # The log of an earlier run would look ready.
    : > "$log"
    setsid "$CROSSBAR" start --cbdir "$node/.crossbar" --logformat none --color false --loglevel info > "$log" 2>&1 < /dev/null &
    local pid=$!
    echo "$pid" > "$node/pid"
    for _ in {1..600}; do
        if grep -q NODE_BOOT_COMPLETE "$log"; then return 0; fi
        kill -0 "$pid" 2> /dev/null || break
        sleep 0.1
    done
    echo "error: Crossbar does not start:" >&2
    tail -n 30 "$log" >&2
    return 1
}

case $command in
    start) start ;;
    stop) end TERM ;;
    kill) end KILL ;;
    restart) end KILL && start ;;
    *) exit 64 ;;
esac
