#!/bin/bash
# The sample of "Your own protocol" (Examples/Board) against a server on Python `websockets` that cuts its connections. See ../README.md.
#
# CUTS, POSTS and SEED set the amounts. HOLDFAST_BIN names a program with our peer's commands. Without it the release build is made first.
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
CUTS=${CUTS:-1000} POSTS=${POSTS:-4000} SEED=${SEED:-$RANDOM}

need_python
HOLDFAST=$(swift_program HOLDFAST_BIN HoldfastPeer)
reports=$ROOT/reports/board
mkdir -p "$reports"
rm -f "$reports"/*

: > "$reports/server.txt"
"$PYTHON" "$ROOT/Interop/board/server.py" --cuts "$CUTS" --seed "$SEED" > "$reports/server.txt" 2> "$reports/server.log" &
server=$!
trap 'kill $server 2> /dev/null || true; wait' EXIT
for _ in $(seq 100); do
    port=$(sed -n 's/^listening //p' "$reports/server.txt")
    [ -n "$port" ] && break
    sleep 0.1
done
[ -n "$port" ] || die "the board did not start: $(cat "$reports/server.log")"

timeout --kill-after=10 300 "$HOLDFAST" board "ws://127.0.0.1:$port/" --posts "$POSTS" --log "$reports/read.txt" > "$reports/client.txt" 2>&1 ||
    echo "not ok the client ended with status $?" >> "$reports/client.txt"
kill $server || true
wait $server || true
trap - EXIT

# The content of the server itself.
"$PYTHON" - "$reports" "$CUTS" "$POSTS" >> "$reports/client.txt" << 'EOF' || echo "not ok the board did not report its content" >> "$reports/client.txt"
import json
import sys

book = json.loads(open(sys.argv[1] + "/server.txt").read().splitlines()[-1])
read = open(sys.argv[1] + "/read.txt").read().splitlines()
cuts, posts = int(sys.argv[2]), int(sys.argv[3])
texts = book["channels"]["news"]
for name, holds in [
    (f"{cuts} connections were cut", book["cuts"] == cuts),
    ("the board has each text once", sorted(texts) == sorted(f"text {number}" for number in range(1, posts + 1))),
    ("the client has read what the board has, in the same order", read == texts),
    ("some posts came again, and were not kept twice", book["again"] > 0 or cuts < 100),
]:
    print("ok" if holds else "not ok", name)
print(f"figure {book['connections']} connections, {book['cuts']} cuts, {book['again']} posts came again")
EOF

passed=$(grep -c '^ok' "$reports/client.txt" || true)
failed=$(grep -c '^not ok' "$reports/client.txt" || true)
cat "$reports/client.txt"
echo "seed $SEED"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
