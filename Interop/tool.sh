# Shared by scripts that run the tool against other servers: starts and stops servers, and counts checks. To be sourced.
# shellcheck shell=bash
# shellcheck source=../scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/setup.sh"
unset http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY REQUEST_METHOD HOLDFAST_BEARER HOLDFAST_PASSWORD HOLDFAST_PASSPHRASE
# Without a name server a lookup must fail soon.
export RES_OPTIONS='timeout:1 attempts:1'
PATH=$PATH:/usr/sbin

work=$(mktemp -d)
# Servers that give up root must be able to read their files.
chmod 711 "$work"
started=()
passed=0
failed=0
stop_all() {
    local pid
    for pid in "${started[@]}"; do kill "$pid" 2> /dev/null || true; done
    # A server that ignores SIGTERM would block the suite forever.
    for _ in {1..100}; do
        [ -n "$(jobs -pr)" ] || break
        sleep 0.1
    done
    for pid in $(jobs -pr); do kill -KILL "$pid" 2> /dev/null || true; done
    wait
}
trap 'stop_all; rm -rf "$work"' EXIT

# prints NAME STATUS PATTERN ARGUMENT…: the tool ends with the status, and its output matches the pattern. $input names its standard input.
prints() {
    local name=$1 wanted=$2 pattern=$3 status=0
    shift 3
    timeout 60 "$HOLDFAST" "$@" > "$work/output" 2>&1 < "${input:-/dev/null}" || status=$?
    if [ $status = "$wanted" ] && grep -Eqz -- "$pattern" "$work/output"; then status=0; else status=1; fi
    report $status "tool: $name"
}

# diagnose NAME EXPRESSION URL: the expression is true for the report of `holdfast doctor`, see doctor/judge.py.
diagnose() {
    local status=0
    timeout 120 "$HOLDFAST" doctor --json "$3" --patience 5 --limit-cap 1K > "$work/report" 2> "$work/errors" || true
    python3 "$ROOT/Interop/doctor/judge.py" "$work/report" "$2" > "$work/output" 2>&1 || status=1
    report $status "doctor: $1"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# start NAME COMMAND…: starts a server in the background, waits for its line `listening PORT`, sets $port. Errors go to $work/NAME.errors.
start() {
    local name=$1 log=$work/$1 pid
    shift
    : > "$log"
    "$@" > "$log" 2> "$log.errors" < /dev/null &
    pid=$!
    started+=("$pid")
    for _ in {1..1200}; do
        port=$(sed -n 's/^listening //p' "$log")
        if [ -n "$port" ] && (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then return 0; fi
        kill -0 "$pid" 2> /dev/null || break
        sleep 0.05
    done
    die "$name does not start: $(tail -n 1 "$log.errors")"
}

# launch PORT COMMAND…: starts a server in the background. `await_all` waits until all accept connections.
launched=()
launch() {
    local port=$1
    shift
    "$@" > "$work/${1##*/}.$port.log" 2>&1 < /dev/null &
    started+=($!)
    launched+=("$! $port $1 $work/${1##*/}.$port.log")
}

await_all() {
    local each pid port name log
    for each in "${launched[@]}"; do
        read -r pid port name log <<< "$each"
        for _ in {1..1200}; do
            if (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then continue 2; fi
            kill -0 "$pid" 2> /dev/null || break
            sleep 0.05
        done
        die "$name does not start: $(tail -n 3 "$log")"
    done
    launched=()
}

# serve VARIABLE OPTION…: starts our echo server and stores its URL in the variable.
serve() {
    local -n result=$1
    local log="$work/server.$1"
    shift
    : > "$log"
    "$HOLDFAST" serve echo --quiet --port 0 "$@" > "$log" 2> "$log.errors" < /dev/null &
    started+=($!)
    for _ in {1..1200}; do
        result=$(head -n 1 "$log")
        if [ -n "$result" ]; then return 0; fi
        sleep 0.05
    done
    die "the server does not start: $(cat "$log.errors")"
}

# certificate NAME: a self-signed certificate for this machine, $work/NAME.pem, with its key $work/NAME.key.
certificate() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost \
        -keyout "$work/$1.key" -out "$work/$1.pem" 2> /dev/null
}

# report STATUS NAME: counts a check. Shows the tool's output after a failure, or always with `shows_texts`.
report() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
        echo "ok $2"
    else
        failed=$((failed + 1))
        echo "not ok $2"
    fi
    if [ "$1" != 0 ] || [ -n "${shows_texts:-}" ]; then sed 's/^/    /' "$work/output"; fi
}

# talk URL OPTION…: sends a line. The output is in $work/output.
talk() { timeout 120 "$HOLDFAST" connect -x 'over the hills' --wait 0.2 "$@" > "$work/output" 2>&1 < /dev/null; }

# directly NAME URL OPTION…: a message comes back.
directly() {
    local name=$1 status=1
    shift
    talk "$@" || true
    if grep -qx 'over the hills' "$work/output"; then status=0; fi
    report $status "$name"
}

# refused NAME TEXT URL OPTION…: the connection fails, and the tool prints this text but not the password.
refused() {
    local name=$1 text=$2 status=1
    shift 2
    if ! talk "$@" && grep -q "$text" "$work/output" && ! grep -q 'p%2Dss\|p-ss' "$work/output"; then status=0; fi
    report $status "$name"
}

# tally COMMAND…: passes on the output of a suite, and counts its checks.
tally() {
    local status=0
    # `||` keeps PIPESTATUS: a suite that crashes before its first line must count as failed.
    PYTHONDONTWRITEBYTECODE=1 timeout 1800 "$@" 2>&1 | tee "$work/output" | { grep -v ' passed, ' || true; } || status=${PIPESTATUS[0]}
    passed=$((passed + $(grep -c '^ok' "$work/output" || true)))
    failed=$((failed + $(grep -c '^not ok' "$work/output" || true)))
    if [ "$status" != 0 ] && ! grep -q '^not ok' "$work/output"; then
        echo "not ok ${*:1:2}: ended with status $status"
        failed=$((failed + 1))
    fi
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
