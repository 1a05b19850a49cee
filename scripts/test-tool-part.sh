#!/usr/bin/env bash
# Runs the built tool as people and scripts do, and checks what it prints and how it ends.
# HOLDFAST: the tool to test; by default the debug build. Needs bash, python3 and openssl; other Python packages come into .venv.
set -u
cd "$(dirname "$0")/.."
tool=$(realpath "${HOLDFAST:-.build/debug/holdfast}") || exit 1
here=$PWD/scripts/test-tool
work=$(mktemp -d)
passed=0 failed=0 servers=()
export NO_COLOR=1
unset HOLDFAST_BEARER

finish() {
    for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT

pass() { passed=$((passed + 1)); echo "ok      $1"; }
fail() {
    failed=$((failed + 1))
    echo "FAILED  $1"
    sed 's/^/        /' "$work/out" "$work/err" 2>/dev/null | head -20
}
check() { if eval "$2"; then pass "$1"; else fail "$1"; fi; }

# run ARGUMENT…: runs the tool; leaves out, err and status behind. Standard input is passed on.
run() {
    timeout 30 "$tool" "$@" >"$work/out" 2>"$work/err"
    status=$?
}
# start ARGUMENT…: a client in the background, as $client.
start() {
    : >"$work/out" >"$work/err"  # Before the fork, so that nobody finds an earlier run's output.
    "$tool" connect "$@" >"$work/out" 2>"$work/err" </dev/null &
    client=$!
    servers+=($client)
}
# expect NAME STATUS PATTERN ARGUMENT…: runs the tool without input; the pattern must stand in standard error.
expect() {
    local name=$1 wanted=$2 pattern=$3
    shift 3
    run "$@" </dev/null
    # shellcheck disable=SC2053  # The status may be a pattern.
    if [[ $status == $wanted ]] && grep -Eq -- "$pattern" "$work/err"; then
        pass "$name"
    else
        fail "$name (status $status, wanted $wanted and /$pattern/)"
    fi
}
out_is() { [[ $(cat "$work/out") == "$1" ]]; }
err_has() { grep -Eq -- "$1" "$work/err"; }
# first_line FIFO: waits for the line with which a server says where it listens.
first_line() { local line; read -r -t 20 line <"$1" && echo "$line"; }

# until_has FILE PATTERN PID [COUNT]: waits until so many lines have the pattern, the process is gone, or 15 seconds have passed.
until_has() {
    local end=$((SECONDS + 15))
    until (($(grep -Ec -- "$2" "$1") >= ${4:-1})); do
        kill -0 "$3" 2>/dev/null && ((SECONDS < end)) || return 1
        pause
    done
}
pause() { read -r -t 0.05 <> <(:) || :; }

any=ws://127.0.0.1:1/
# --- The demo
start=$SECONDS
run demo </dev/null
check "the demo ends with status 0" '[[ $status == 0 ]]'
check "the demo takes less than 20 seconds" '(( SECONDS - start < 20 ))'
check "the demo cuts the link twice and kills the hub" '[[ $(grep -c "CUT" "$work/out") == 2 && $(grep -c "KILLED with -9" "$work/out") == 1 ]]'
check "the demo counts what arrived" 'grep -q "sent 24, stored 24, delivered 24, lost 0, doubled 0, in one order for all" "$work/out"'
check "the demo draws the connection and the times over time" '[[ $(grep -c -e "█ connected" -e "until stored: ▁" "$work/out") == 2 ]]'
check "the demo says how to go on" 'grep -q "holdfast chat ws://" "$work/out" && grep -q "http://127.0.0.1:9001/" "$work/out"'

# --- Rooms
expect "rooms without a name or a token" 64 "say who you are" rooms send $any --room lobby hi
expect "a room that is none" 64 "1 to 128 bytes" rooms send $any --room "" --name ann hi
expect "a payload that is no JSON" 64 "is no JSON" rooms send $any --room lobby --name ann --type game.move '{'
expect "a --name and a --token" 64 "exclude each other" chat $any --room lobby --name ann --token x
expect "rooms tail from nowhere" 64 "from" rooms tail $any --room lobby --name ann --from yesterday
mkfifo "$work/rooms-url"
"$tool" serve hub --dev --port 0 --data "$work/hub" >"$work/rooms-url" 2>"$work/rooms.log" &
rooms_pid=$!
servers+=($rooms_pid)
rooms_url=$(first_line "$work/rooms-url")
run rooms send "$rooms_url" --room lobby --name ann one two </dev/null
check "rooms send waits until all is stored" '[[ $status == 0 && $(grep -c "\"stored\":true" "$work/out") == 2 ]]'
run rooms tail "$rooms_url" --room lobby --name bob --from beginning --count 2 --text </dev/null
check "rooms tail prints the entries in order" '[[ $status == 0 && $(cat "$work/out") == "ann: one"$'"'\n'"'"ann: two" ]]'
run rooms tail "$rooms_url" --room lobby --name bob --from 1 --count 1 </dev/null
check "rooms tail begins after a number" '[[ $status == 0 ]] && grep -q "\"seq\":2," "$work/out" && ! grep -q replaced "$work/out"'
run rooms history "$rooms_url" --room lobby --name bob --limit 1 </dev/null
check "rooms history prints the last" '[[ $status == 0 && $(wc -l <"$work/out") == 1 ]] && grep -q "\"text\":\"two\"" "$work/out"'
run chat "$rooms_url" --room lobby --name cy <<<"three"
check "chat in a pipe sends lines and prints entries" '[[ $status == 0 ]] && grep -q "^cy: three" "$work/out" && grep -q "^ann: one" "$work/out"'
run rooms send "$rooms_url" --room lobby --token nonsense hi </dev/null
check "a token that is none is refused" '[[ $status == 3 ]] && grep -q 2001 "$work/out"'
run rooms send $any --room lobby --name dora --store "$work/dora" --timeout 0.5 later </dev/null
check "what cannot be sent is said" '[[ $status == 4 ]] && grep -q "\"stored\":false,\"retry\":true" "$work/out"'
run rooms send "$rooms_url" --room lobby --name dora --store "$work/dora" now </dev/null
check "and goes out with the next run on its store, before what is new" '[[ $status == 0 && $(grep -c "\"stored\":true" "$work/out") == 2 ]]'
run rooms history "$rooms_url" --room lobby --name bob --text </dev/null
check "in its place" 'tail -n 2 "$work/out" | tr "\n" " " | grep -q "dora: later dora: now"'
check "chat draws on a terminal" 'python3 "$here/test-tool/chat.py" "$tool" "$rooms_url" >"$work/out" 2>&1 || { cat "$work/out"; false; }'
kill "$rooms_pid"
wait "$rooms_pid" 2>/dev/null

echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
