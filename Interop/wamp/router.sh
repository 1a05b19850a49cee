#!/bin/bash
# Our router as the router of a test.
#
#   router.sh kill DIRECTORY
#   router.sh start|restart DIRECTORY PORT [OPTION…]     HOLDFAST names the tool; the options are those of `holdfast serve wamp`
#
# The log is log.txt in the directory.
set -euo pipefail
command=$1 node=$2 port=${3:-}
shift "$(($# < 3 ? $# : 3))"

end() {
    local pid
    pid=$(cat "$node/pid" 2> /dev/null || true)
    [ -n "$pid" ] || return 0
    rm -f "$node/pid"
    kill -KILL "$pid" 2> /dev/null || true
    # Its port is free once it is gone. The parent may not have waited for it.
    while [ -e "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2> /dev/null; do sleep 0.02; done
}

start() {
    mkdir -p "$node"
    : > "$node/url"
    setsid "$HOLDFAST" serve wamp --port "$port" "$@" > "$node/url" 2> "$node/log.txt" < /dev/null &
    local pid=$!
    echo "$pid" > "$node/pid"
    for _ in {1..600}; do
        if [ -s "$node/url" ]; then return 0; fi
        kill -0 "$pid" 2> /dev/null || break
        sleep 0.05
    done
    echo "error: the router does not start:" >&2
    tail -n 30 "$node/log.txt" >&2
    return 1
}

case $command in
    start) start "$@" ;;
    kill) end ;;
    restart) end && start "$@" ;;
    *) exit 64 ;;
esac
