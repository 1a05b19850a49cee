#!/bin/bash
# Our hub against Mosquitto 2.0 (MQTT over WebSocket, QoS 1, persistent sessions) and python-socketio, alternately; see bench.py.
#
#   Benchmarks/hub/run.sh [PEER…]     holdfast, mosquitto, socketio; all by default
#
# ROUNDS=n SECONDS_EACH=s         how often and how long each work is done (3 times 3 s)
# MEMBERS="1000 10000" IDLE=n     how large the rooms are, and how many connections are idle (10,000)
# HOLDFAST_BIN=program            with our peer's commands; without it, the release build is made first
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
need_apt mosquitto gcc libc6-dev
need_python
peers=("$@")
[ ${#peers[@]} -gt 0 ] || peers=(holdfast mosquitto socketio)
mkdir -p "$ROOT/.cache/bench"
driver=$ROOT/.cache/bench/hub-driver
[ "$driver" -nt "$ROOT/Benchmarks/hub/driver.c" ] || cc -O2 -Wall -Wextra -D_GNU_SOURCE -o "$driver" "$ROOT/Benchmarks/hub/driver.c"
case " ${peers[*]} " in
    *" holdfast "*) holdfast=$(swift_program HOLDFAST_BIN HoldfastPeer) ;;
    *) holdfast=none ;;
esac
export PYTHONDONTWRITEBYTECODE=1
# Ten thousand connections need as many files on either side. Root may raise the shell's limit.
ulimit -n 65536 2> /dev/null || ulimit -n "$(ulimit -Hn)"
exec "$PYTHON" "$ROOT/Benchmarks/hub/bench.py" "$holdfast" "$driver" "$ROOT/reports" "${peers[@]}"
