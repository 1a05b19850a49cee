#!/usr/bin/env bash
# Runs the built tool as users and scripts do, and checks its output and exit status.
# HOLDFAST: the tool to test; by default the debug build. Needs bash, python3 and openssl. Other Python packages are installed in .venv.
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

# run ARGUMENT…: runs the tool, with standard input passed on. The results are in out, err and status. The timeout only limits failures.
run() {
    timeout 120 "$tool" "$@" >"$work/out" 2>"$work/err"
    status=$?
}
# start ARGUMENT…: starts a client in the background as $client.
start() {
    : >"$work/out" >"$work/err"  # Before the fork, so that no check reads an earlier run's output.
    "$tool" connect "$@" >"$work/out" 2>"$work/err" </dev/null &
    client=$!
    servers+=($client)
}
# expect NAME STATUS PATTERN ARGUMENT…: runs the tool without input. Standard error must match the pattern.
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
# first_line FIFO: waits for the line with which a server reports its address.
first_line() { local line; read -r -t 60 line <"$1" && echo "$line"; }

# until_has FILE PATTERN PID [COUNT]: waits until this many lines match, the process ends, or a minute passes.
until_has() {
    local end=$((SECONDS + 60))
    until (($(grep -Ec -- "$2" "$1") >= ${4:-1})); do
        kill -0 "$3" 2>/dev/null && ((SECONDS < end)) || return 1
        pause
    done
}
# relay COMMAND…: runs a program of checks that prints "ok NAME" or "FAILED NAME" for each.
relay() {
    local line
    while IFS= read -r line; do
        case $line in
            "ok "*) pass "${line#ok }" ;;
            "FAILED "*) : >"$work/out" >"$work/err"; fail "${line#FAILED }" ;;
            *) echo "$line" ;;
        esac
    done < <("$@" || echo "FAILED the checks of $4 ran to their end")
}
pause() { read -r -t 0.05 <> <(:) || :; }

# --- Help and usage
for command in "" connect bench serve "serve echo" "serve quotes" "serve hub" quotes chaos demo pin doctor measure chat rooms "rooms send" \
    "rooms tail" "rooms history" "rooms outbox" wamp "wamp call" "wamp publish" "wamp subscribe" "wamp register" "serve wamp"; do
    # shellcheck disable=SC2086
    run $command --help </dev/null
    check "help for 'holdfast $command'" '[[ $status == 0 ]] && grep -q USAGE "$work/out"'
    check "help for 'holdfast $command' has defaults as they are typed" '! tr -s " \n" " " <"$work/out" | grep -Eq "default: [A-Za-z_.]+\("'
done
run connect --help </dev/null
check "help lists the exit statuses" 'grep -q "EXIT STATUS" "$work/out" && grep -Eq "^ +64  wrong usage" "$work/out"'

any=ws://127.0.0.1:1/
expect "doctor follows no redirects" 64 "where they lead" doctor $any --follow
expect "doctor's limit is the server's" 64 "--limit-cap" doctor $any --max-message 1K
expect "doctor refuses a cap that would fill the memory" 64 "at most 32M" doctor $any --limit-cap 33M
expect "doctor with an idle time of zero" 64 "at least 0.1" doctor $any --idle 0
run doctor $any </dev/null
check "doctor without a server gives advice" '[[ $status == 4 ]] && grep -q "→ check whether the server runs" "$work/out"'
expect "no URL" 64 "Missing expected argument" connect
expect "an unknown command" 64 "Error" conect
expect "an unknown option" 64 "Unknown option" connect $any --frobnicate
expect "http: is refused" 64 "use ws: or wss:" connect http://127.0.0.1/
expect "a URL without a scheme is refused" 64 "no scheme" connect 127.0.0.1:80
expect "a URL without a host is refused" 64 "no host" connect ws:///path
expect "a URL with a password is refused" 64 "no user name or password" connect ws://me:secret@127.0.0.1/
check "the password is not repeated in the error" '! grep -q "Authorization: .*secret" "$work/err"'
expect "a URL with a fragment is refused" 64 "no fragment" connect "ws://127.0.0.1/#top"
expect "a URL with a bad port is refused" 64 "not a port" connect ws://127.0.0.1:99999/
expect "a URL with a space is refused" 64 "no spaces" connect "ws://127.0.0.1/a b"
expect "an unclosed IPv6 address is refused" 64 "no \]" connect "ws://[::1/"
expect "a header without a colon" 64 "header" connect $any --header Nonsense
expect "a header with a line end" 64 "header" connect $any --header $'X-A: b\r\nEvil: 1'
expect "a header of the handshake's own" 64 "Sec-WebSocket-Key" connect $any --header "Sec-WebSocket-Key: mine"
expect "a subprotocol that is not a token" 64 "not a token" connect $any --subprotocol "s3cr3t/b"
check "the invalid subprotocol is not printed" '! grep -q s3cr3t "$work/err"'
expect "a missing --ca file" 64 "cannot read" connect wss://127.0.0.1:1/ --ca "$work/none.pem"
expect "--ca with ws:" 64 "wss: URLs" connect $any --ca "$here/server.py"
expect "--insecure with ws:" 64 "wss: URLs" connect $any --insecure
expect "--ca with --insecure" 64 "exclude each other" connect wss://127.0.0.1:1/ --insecure --ca "$here/server.py"
expect "--bearer with an Authorization header" 64 "exclude each other" connect $any --bearer x --header "Authorization: y"
expect "a bearer token with a line end" 64 "bearer token" connect $any --bearer $'top\nsecret'
check "the token is not printed" '! grep -q secret "$work/err"'
expect "--wait with nonsense" 64 "wait" connect $any --wait soon
expect "--wait below zero" 64 "wait" connect $any --wait=-1
expect "--ping with zero" 64 "ping" connect $any --ping 0
expect "--ping with nonsense" 64 "ping" connect $any --ping x
expect "--max-message with nonsense" 64 "max-message" connect $any --max-message 1T
expect "--max-message of zero" 64 "max-message" connect $any --max-message 0
expect "bench without a URL" 64 "--serve" bench
expect "bench with a URL and --serve" 64 "exclude each other" bench $any --serve
expect "bench with --port and without --serve" 64 "--serve" bench $any --port 1
for option in "--rate 10" "--connections 2" --text --json; do
    read -ra words <<<"$option"
    expect "bench --serve with $option" 64 "for measuring" bench --serve "${words[@]}"
done
expect "too many connections" 64 "1 to 10000" bench $any --connections 10001
expect "too much in flight" 64 "1 GiB" bench $any --connections 1000 --depth 1000 --size 1M
expect "a rate of zero" 64 "--rate" bench $any --rate 0
expect "replies larger than --max-message" 64 "--max-message" bench $any --size 2K --max-message 1K
expect "--port out of range" 64 "not a port" serve echo --port 70000
expect "--tls-cert without its key" 64 "go together" serve echo --tls-cert "$here/server.py"
expect "--tls-cert with --tls-self-signed" 64 "exclude each other" serve echo --tls-self-signed --tls-cert x --tls-key y
expect "an invalid --origin" 64 "is not an origin" serve echo --origin example.org
expect "an invalid --tls-min" 64 "not a version of TLS" serve quotes --tls-min 1.1
expect "an invalid certificate" 1 "certificate" serve echo --port 0 --tls-cert "$here/server.py" --tls-key "$here/server.py"

# --- Against a server that misbehaves on request
mkfifo "$work/port"
python3 "$here/server.py" >"$work/port" &
servers+=($!)
fake=ws://127.0.0.1:$(first_line "$work/port")
expect "a refused upgrade shows status, headers and body" 3 "401" connect "$fake/401"
check "the refusal's headers are shown" 'err_has "WWW-Authenticate: Bearer"'
check "the refusal's body is shown and cannot drive the terminal" 'err_has "log in first .u.1B.\[2J"'
expect "a wrong Sec-WebSocket-Accept" 3 "Sec-WebSocket-Accept" connect "$fake/bad-accept"
expect "a close code is named" 6 "4001 \(application code\)" connect "$fake/close/4001" --wait forever
expect "an internal error of the server" 6 "1011 \(internal error\)" connect "$fake/close/1011" --wait forever
expect "a normal close is status 0" 0 "1000 \(normal closure\)" connect "$fake/close/1000" --wait forever
expect "a broken protocol" 7 "opcode" connect "$fake/violate" --wait forever
expect "a lost connection" 2 "." connect "$fake/lost" --wait forever
expect "no server listens" 4 "127.0.0.1:1" connect $any
expect "a name that does not exist" 4 "nowhere.invalid" connect ws://nowhere.invalid/
expect "a server that never answers" 4 "." connect "$fake/silent"
run connect "$fake/headers" -H "X-A: b: c" </dev/null
check "a header is sent" 'out_is "b: c|"'
HOLDFAST_BEARER=sesame run connect "$fake/headers" </dev/null
check "a token from the environment is sent" 'out_is "|Bearer sesame"'
check "the token is not printed" '! grep -q sesame "$work/err"'
run connect "$fake/headers" --bearer open --quiet </dev/null
check "--bearer is sent and --quiet prints messages only" 'out_is "|Bearer open" && [[ ! -s $work/err ]]'
# untold NAME: neither output contains the token.
untold() { check "$1" '! grep -q s3cr3t "$work/out" "$work/err"'; }
expect "a subprotocol that may be a token is agreed on" 0 "subprotocol <hidden>" connect "$fake/first-offer" --subprotocol bearer.s3cr3t
untold "and not printed"
expect "a well-known subprotocol is shown" 0 "subprotocol mqtt" connect "$fake/first-offer" --subprotocol mqtt
expect "a server that repeats the offer is refused" 3 "subprotocol that was not offered" \
    connect "$fake/echo-offer" --subprotocol chat --subprotocol bearer.s3cr3t
untold "and the token in it is not printed"
brief_doctor=(--patience 0.2 --timeout 3 --limit-cap 1K)
for options in "" --json; do
    for path in first-offer echo-offer headers; do
        run doctor "$fake/$path" ${options:+"$options"} "${brief_doctor[@]}" --subprotocol bearer.s3cr3t --subprotocol chat </dev/null
        check "doctor${options:+ $options} examines /$path" 'grep -q "<hidden>\|subprotocol that was not offered" "$work/out"'
        untold "doctor${options:+ $options} does not print a token that was offered to /$path"
    done
done
run connect "$fake/binary" --hex </dev/null
check "--hex dumps binary messages" 'grep -q "^00000010  10 11 12 13 " "$work/out"'
run connect "$fake/binary" </dev/null
check "binary messages are summed up" 'grep -q "^binary, 20 bytes: 00 01 " "$work/out"'

brief=(--warm-up 0 --duration 0.3 --wait 0.5 --connections 3)
expect "bench: no server listens" 4 "127.0.0.1:1" bench $any
expect "bench: a refused upgrade" 3 "401" bench "$fake/401" "${brief[@]}"
expect "bench: a close code is named" 6 "4001 \(application code\)" bench "$fake/close/4001" "${brief[@]}"
expect "bench: a broken protocol" 7 "opcode" bench "$fake/violate" "${brief[@]}"
expect "bench: connections that end are counted" 1 "3 connections ended early" bench "$fake/close/1000" "${brief[@]}"
run bench "$fake/escape" "${brief[@]}" </dev/null
check "bench: a wrong echo is an error" '[[ $status == 1 ]] && grep -q "^errors .*wrong kind or length" "$work/out"'
run bench "$fake/mute" "${brief[@]}" --depth 4 </dev/null
check "bench: a missing answer is an error" '[[ $status == 1 ]] && grep -q "^errors  *12 without a reply" "$work/out"'

timeout 30 "$tool" connect "$fake/escape" --wait 0.2 2>"$work/err" </dev/null | head -c 4 >"$work/out"
check "text is written to a pipe unchanged" '[[ $(cat "$work/out") == $'"'"'\e[2J'"'"' ]]'

# --- Against the echo server
mkfifo "$work/url"
"$tool" serve echo --port 0 >"$work/url" 2>"$work/echo.log" &
echo_pid=$!
servers+=($echo_pid)
url=$(first_line "$work/url")
check "serve echo prints its URL" '[[ $url == ws://127.0.0.1:*/ ]]'
# foreign NAME URL OPTION…: the server refuses pages of other origins, and pages whose own name resolves to it.
foreign() {
    expect "$1 refuses a page of another origin" 3 "403" connect "${@:2}" --header "Origin: https://evil.example"
    expect "$1 refuses a page of an unknown name of this host" 3 "403" connect "${@:2}" \
        --header "Origin: http://evil.example" --header "Host: evil.example"
}
foreign "serve echo" "$url"
run connect "$url" <<<$'hi\n\nünicode'
check "every line of a pipe is a message" '[[ $status == 0 ]] && out_is $'"'"'hi\n\nünicode'"'"
run connect "$url" --json --execute '{"b":1.10,"a":[]}' </dev/null
check "--execute sends and --json lays out" '[[ $status == 0 ]] && out_is $'"'"'{\n  "b": 1.10,\n  "a": []\n}'"'"
run connect "$url" -x one -x two --wait 0.2 --no-compression --timestamps </dev/null
check "--execute repeats, with timestamps" '[[ $(grep -Ec "^[0-9:.]{12} (one|two)$" "$work/out") == 2 ]]'
head -c 3000000 /dev/zero | tr '\0' 'a' >"$work/big"
run connect "$url" <"$work/big"
check "a message over the server's limit is named" '[[ $status == 6 ]] && err_has "1009 \(message too big\)"'
head -c 100000 /dev/zero | tr '\0' 'a' >"$work/big"
run connect "$url" --max-message 64K <"$work/big"
check "a message over our own limit is named" '[[ $status == 7 ]] && err_has "too big|larger|limit|exceeds"'
seq 20000 >"$work/lines"
run connect "$url" <"$work/lines"
check "20000 lines come back in order" 'cmp -s "$work/lines" "$work/out"'
printf 'good\n\xff\nmore\n' | timeout 30 "$tool" connect "$url" >"$work/out" 2>"$work/err"
status=${PIPESTATUS[1]}
check "a line that is not UTF-8 is named and status is 65" '[[ $status == 65 ]] && err_has "line 2" && out_is good'
start "$url" -x hi --wait forever
until_has "$work/out" hi $client
kill -INT $client
wait $client
status=$?
check "SIGINT closes and ends with status 130" '[[ $status == 130 ]]'
run connect "$url" -x hi --ping 0.05 --wait 0.5 </dev/null
check "--ping prints round trips" '[[ $(grep -Ec "pong after [0-9.]+ ms" "$work/err") -ge 2 ]]'
start "$url" -x hi --wait forever
until_has "$work/out" hi $client
kill -TERM $echo_pid
wait $client
status=$?
check "a server that goes away is status 0" '[[ $status == 0 ]] && err_has "1001 \(going away\)"'
wait $echo_pid
status=$?
check "SIGTERM ends the echo server with status 0" '[[ $status == 0 ]]'
check "the echo server logged its clients" 'grep -q "opened /" "$work/echo.log" && grep -q "20000 messages" "$work/echo.log"'

# --- Measuring
mkfifo "$work/bench-url"
"$tool" bench --serve --port 0 --quiet >"$work/bench-url" 2>/dev/null &
bench_pid=$!
servers+=($bench_pid)
bench_url=$(first_line "$work/bench-url")
check "bench --serve prints its URL" '[[ $bench_url == ws://127.0.0.1:*/ ]]'
brief=(--warm-up 0.1 --duration 0.5)
run bench "$bench_url" "${brief[@]}" --depth 4 </dev/null
check "bench measures" '[[ $status == 0 && ! -s $work/err ]] && grep -Eq "^errors +0$" "$work/out" && grep -Eq "p99.99 +[0-9.]+ m?" "$work/out"'
check "bench explains a closed loop" 'grep -q "^closed loop" "$work/out"'
run bench "$bench_url" "${brief[@]}" --rate 500 --text --size 0 </dev/null
check "bench keeps a rate" '[[ $status == 0 ]] && grep -q "^open loop: 500 messages/s" "$work/out" && grep -q "due to sent" "$work/out"'
run bench "$bench_url" "${brief[@]}" --size 300K --depth 8 --connections 2 --no-compression --json </dev/null
check "bench --json is consistent" '[[ $status == 0 ]] && python3 "$here/bench.py" 307200 <"$work/out"'
check "bench shows progress, and Control-C ends it with the results so far" 'python3 "$here/live.py" "$tool" "$bench_url" >"$work/out"'
kill -TERM $bench_pid
wait $bench_pid
status=$?
check "SIGTERM ends the server with status 0" '[[ $status == 0 ]]'

# --- Statistics and metrics
python=$(source scripts/setup.sh && need_python >&2 && echo "$PYTHON")
mkfifo "$work/seen-url"
: >"$work/seen.log"
"$tool" serve echo --port 0 --metrics >"$work/seen-url" 2>"$work/seen.log" &
seen_pid=$!
servers+=($seen_pid)
seen_url=$(first_line "$work/seen-url")
until_has "$work/seen.log" "metrics: http" $seen_pid
page=$(sed -n 's/.*metrics: \(http:[^ ]*\).*/\1/p' "$work/seen.log")
run connect "$seen_url" --stats -x one -x four --wait 0.3 </dev/null
check "--stats sums up at the end" '[[ $status == 0 ]] && err_has "^. sent +2 messages, 7 B, " && err_has "^. received +2 messages, 7 B, "'
check "--stats leaves standard output to the messages" 'out_is $'"'"'one\nfour'"'"
run connect "$seen_url" --stats --reconnect -x three --wait 0.3 </dev/null
check "--stats sums up a connection with --reconnect" '[[ $status == 0 ]] && err_has "^. sent +1 message, 5 B, " && err_has ", 0 lost"'
HOLDFAST_BEARER=s3same run connect "$seen_url?token=s3same" -H "Cookie: id=s3same" --stats -x five --wait 0.3 </dev/null
check "--stats shows no secret" '[[ $status == 0 ]] && ! grep -q s3same "$work/err"'
check "--metrics are understood by Prometheus" '"$python" "$here/metrics.py" "$page" 4 16 >"$work/out" 2>"$work/err"'
check "--metrics show no secret" '[[ -s $work/out ]] && ! grep -q s3same "$work/out" "$work/seen.log"'
check "--stats shows a line each second" '"$python" "$here/stats.py" "$tool" "$seen_url" alone >"$work/out" 2>"$work/err"'
check "--stats shows it above the prompt, too" '"$python" "$here/stats.py" "$tool" "$seen_url" prompt >"$work/out" 2>"$work/err"'
expect "--metrics with an invalid port" 64 "not a port" serve echo --metrics 70000
expect "--metrics on a used port" 1 "cannot listen" serve echo --port 0 --metrics "$(sed 's/.*:\([0-9]*\).*/\1/' <<<"$page")"
kill -TERM $seen_pid
wait $seen_pid
status=$?
check "SIGTERM ends a server with metrics with status 0" '[[ $status == 0 ]]'

# --- Reconnecting
port=${url##*:}
port=${port%/}
: >"$work/again"
"$tool" serve echo --port "$port" >"$work/again" 2>/dev/null &
servers+=($!)
first=$!
until_has "$work/again" ws: $first
start "$url" --reconnect -x hi --wait forever
until_has "$work/out" hi $client
kill -KILL $first
{ wait $first; } 2>/dev/null
until_has "$work/err" "attempt [0-9]+ in [0-9.]+ m?s" $client
: >"$work/again"
"$tool" serve echo --port "$port" >"$work/again" 2>/dev/null &
servers+=($!)
until_has "$work/err" "connected to" $client 2
check "--reconnect announces its attempts and reconnects" '[[ $(grep -c "connected to" "$work/err") == 2 ]]'
kill -TERM $client
wait $client
status=$?
check "SIGTERM ends it with status 143" '[[ $status == 143 ]]'
expect "--reconnect gives up after a final failure" 3 "401" connect "$fake/401" --reconnect --wait forever

expect "a used port" 1 "cannot listen on 127.0.0.1:$port" serve echo --port "$port"

# --- A bad network
expect "chaos without a script" 64 "Missing expected" chaos --listen 0 --to a:1
expect "chaos reports the position of an error in its script" 64 "line 1, column 6: expected .*found \"stal\"" chaos --listen 0 --to a:1 --script "cut; stal 5s"
expect "chaos with a missing script" 64 "cannot read" chaos --listen 0 --to a:1 --script "@$work/none"
expect "chaos with a wrong target" 64 "to" chaos --listen 0 --to a --script cut
expect "chaos with a wrong port" 64 "not a port" chaos --listen 70000 --to a:1 --script cut
expect "chaos with itself as target" 64 "itself" chaos --listen 9100 --to localhost:9100 --script cut
run chaos --help </dev/null
check "help for chaos shows the language, in less than 80 columns" 'grep -q "^WHEN:  at TIME" "$work/out" && ! sed "/^USAGE/,\$d" "$work/out" | grep -Eq ".{81}"'

# chaos ARGUMENT…: a link to the echo server in the background, as $chaos with $chaos_url. It writes to $work/chaos.
chaos() {
    : >"$work/chaos"
    "$tool" chaos --listen 0 --to "127.0.0.1:$port" "$@" >"$work/chaos" 2>"$work/chaos.err" </dev/null &
    chaos=$!
    servers+=($chaos)
    until_has "$work/chaos" "seed" $chaos
    chaos_url=ws://$(sed -n '1s/ .*//p' "$work/chaos")/
}
printf 'delay 1ms..2ms  # from the beginning\nevery 3s..4s cut rst\n' >"$work/script"  # Long enough for an echo on a busy machine.
chaos --script "@$work/script" --seed 7
check "chaos prints its address, its target, and its seed" 'grep -Eq "^127.0.0.1:[0-9]+ -> 127.0.0.1:$port, seed 7$" "$work/chaos"'
start "$chaos_url" --reconnect -x hi --wait forever
until_has "$work/err" "connected to" $client 2
check "a client reconnects after a cut" 'grep -q "hi" "$work/out" && grep -Eq "^ +[0-9.]+ s  cut rst$" "$work/chaos"'
kill -TERM $client
wait $client
kill -INT $chaos
wait $chaos
status=$?
check "Control-C ends chaos with its totals and status 0" '[[ $status == 0 ]] && grep -Eq "^connections  [2-9]" "$work/chaos" &&
    grep -Eq "^bytes +[0-9]+ up, [0-9]+ down" "$work/chaos" && grep -Eq "^faults +cut [0-9]+, delay 1$" "$work/chaos"'
run chaos --listen 0 --to 127.0.0.1:1 --script "after 1ms stall 1ms; swallow up" --duration 0.3 </dev/null
check "chaos ends after its time, and reports the end of the script" '[[ $status == 0 ]] && grep -q "end of stall" "$work/out" &&
    grep -q "the script is over" "$work/out" && grep -q "^faults  *stall 1, swallow 1$" "$work/out"'
run chaos --listen 0 --to 127.0.0.1:1 --script cut --duration 0.1 --quiet </dev/null
check "chaos --quiet prints the first line and the totals" '[[ $status == 0 && $(wc -l <"$work/out") == 4 ]]'
expect "chaos: a used port" 1 "cannot listen on 127.0.0.1:$port" chaos --listen "$port" --to a:1 --script cut

# --- Quotes
expect "too many ticks for so few symbols" 64 "see --symbols" serve quotes --symbols 2 --rate 1000
expect "quotes of an invalid symbol" 64 "not a symbol" quotes $any "a b"
expect "quotes without a server" 4 "127.0.0.1:1" quotes $any --for 0.5
mkfifo "$work/quotes-url"
: >"$work/quotes.log"
"$tool" serve quotes --port 0 --seed 7 --rate 5000 --metrics >"$work/quotes-url" 2>"$work/quotes.log" &
quotes_pid=$!
servers+=($quotes_pid)
quotes_url=$(first_line "$work/quotes-url")
quotes_port=${quotes_url%/feed}
quotes_port=${quotes_port##*:}
check "serve quotes prints the URL of its feed" '[[ $quotes_url == ws://127.0.0.1:*/feed ]]'
check "serve quotes describes its market" 'grep -q "500 symbols, 5,000 ticks/s, seed 7" "$work/quotes.log"'
foreign "serve quotes" "$quotes_url" --subprotocol holdfast.quotes.v1.msgpack
expect "a client that offers no subprotocol learns the known ones" 3 "holdfast.quotes.v1.msgpack" connect "$quotes_url"

# watch COUNT ARGUMENT…: runs quotes until it has printed this many lines, then Control-C.
watch() {
    local count=$1
    shift
    : >"$work/out" >"$work/err"
    "$tool" quotes "$@" --every 0.2 >"$work/out" 2>"$work/err" </dev/null &
    client=$!
    servers+=($client)
    until_has "$work/out" . $client "$count"
    kill -INT $client
    wait $client
    status=$?
}
for encoding in json msgpack protobuf; do
    watch 100 "$quotes_url" "BANK*" --encoding $encoding
    check "quotes come as $encoding" '[[ $status == 130 ]] && grep -Eq "^BANK +[0-9]+\.[0-9]+ " "$work/out" &&
        err_has "ticks of 32 symbols, 1 connection, .* 0 gaps, 0 resyncs, 0 stale, 0 garbage"'
    check "the server names the encoding" 'grep -q "opened /feed, holdfast.quotes.v1.$encoding" "$work/quotes.log"'
done
watch 100 "$quotes_url" "SAIL*" BANK --json
check "quotes --json are JSON whose versions grow" 'python3 "$here/quotes-json.py" 33 <"$work/out"'
run quotes "$quotes_url" --rate 5 --for 1 </dev/null
check "quotes --for ends with status 0" '[[ $status == 0 ]] && err_has "ticks of 500 symbols"'
for key in q control-c; do
    check "the board draws, scrolls, and $key ends it with the terminal as before" \
        'timeout 60 python3 "$here/quotes.py" "$tool" "$quotes_url" $key >"$work/out" 2>"$work/err"'
done
check "the root redirects to the page" 'python3 -c "
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1]) as answer:
    assert answer.url.endswith(\"/quotes\") and answer.read().lower().startswith(b\"<!doctype html>\")" "http://127.0.0.1:$quotes_port/"'
: >"$work/chaos"
"$tool" chaos --listen 0 --to "127.0.0.1:$quotes_port" --script "every 0.5s..0.6s cut rst" >"$work/chaos" 2>/dev/null </dev/null &
chaos=$!
servers+=($chaos)
until_has "$work/chaos" "seed" $chaos
: >"$work/out" >"$work/err"
"$tool" quotes "ws://$(sed -n '1s/ .*//p' "$work/chaos")/feed" "BANK*" --json --every 0.05 >"$work/out" 2>"$work/err" </dev/null &
client=$!
servers+=($client)
opened=$(grep -c "opened /feed" "$work/quotes.log")
until_has "$work/quotes.log" "opened /feed" $quotes_pid $((opened + 3))
until_has "$work/out" '"BANK",.*"current":false' $client
kill -INT $client
wait $client
kill -TERM $chaos
wait $chaos
check "quotes survive cuts, mark old values, and never go back" 'err_has ", [2-9][0-9]* connections," &&
    grep -q "\"current\":false" "$work/out" && python3 "$here/quotes-json.py" 32 <"$work/out"'
watch 2500 "$quotes_url" --rate 5
check "a client that asks for less gets less, and nothing is lost" 'err_has " [1-9][0-9,]* conflated, 0 gaps, 0 resyncs, 0 stale, 0 garbage"'
kill -TERM $quotes_pid
wait $quotes_pid
status=$?
check "SIGTERM ends the server of quotes with status 0" '[[ $status == 0 ]]'
: >"$work/quotes.log"
"$tool" serve quotes --port 0 --drop 0.2 --no-bursts --quiet >"$work/quotes-url" 2>"$work/quotes.log" &
quotes_pid=$!
servers+=($quotes_pid)
quotes_url=$(first_line "$work/quotes-url")
watch 2500 "$quotes_url" "*" --json
check "dropped messages are found as gaps and repaired" 'err_has " [1-9][0-9]* gaps, [1-9][0-9]* resyncs, 0 stale, 0 garbage" &&
    python3 "$here/quotes-json.py" 500 <"$work/out" && [[ ! -s $work/quotes.log ]]'
kill -TERM $quotes_pid
wait $quotes_pid

# --- Hub
expect "a hub without any authentication is refused" 64 "--jwks" serve hub
expect "a hub has no --http2" 64 "Unknown option.*--http2" serve hub --dev --http2
expect "development tokens stay on this machine" 1 "this machine only" serve hub --dev --host 0.0.0.0 --port 0 --data "$work/hub"
echo short >"$work/secret"
expect "a short secret is refused" 1 "32 bytes" serve hub --secret-file "$work/secret" --port 0 --data "$work/hub"
echo '{"prot": 1}' >"$work/hub.json"
expect "a configuration with a misspelt option is refused" 64 "no option prot" serve hub --config "$work/hub.json"
echo "an API key of a test" >"$work/api-keys"
echo "{\"data\": \"$work/hub\", \"dev\": true, \"api-key-file\": \"$work/api-keys\", \"backup-to\": \"$work\"}" >"$work/hub.json"
mkfifo "$work/hub-url"
# start_hub OPTION…: starts a hub on a free port, with hub_pid, hub_url and hub_http.
start_hub() {
    : >"$work/hub.log"
    "$tool" serve hub --config "$work/hub.json" --port 0 "$@" >"$work/hub-url" 2>"$work/hub.log" &
    hub_pid=$!
    servers+=($hub_pid)
    hub_url=$(first_line "$work/hub-url")
    hub_http=http${hub_url#ws}
    hub_http=${hub_http%/rooms}
}
# ask STATUS PATTERN PATH [FIELD]… [--post BODY]: sends a request to the hub over HTTP.
ask() { timeout 30 python3 "$here/ask.py" "$1" "$2" "$hub_http$3" "${@:4}" >"$work/out" 2>"$work/err"; }
api_key="Authorization: Bearer an API key of a test"
post() { ask "$1" "$2" /api/rooms/lobby/messages "$api_key" "Idempotency-Key: $3" --post "$4"; }
start_hub
until_has "$work/hub.log" "chat: " $hub_pid
check "serve hub prints the URL of its rooms" '[[ $hub_url == ws://127.0.0.1:*/rooms ]]'
check "serve hub prints the URLs of its page and its chat" 'grep -q "page: $hub_http/ " "$work/hub.log" && grep -q "chat $hub_url" "$work/hub.log"'
check "a hub is alive and ready" 'ask 200 alive /healthz && ask 200 ready /readyz'
check "a hub has a page, its status and its metrics" \
    'ask 200 "<html|<!doctype" / && ask 200 "\"connections\":0" /status.json && ask 200 "holdfast_hub_connections 0" /metrics'
id=01890000-0000-7000-8000-000000000001
check "a program publishes" 'post 201 "\"seq\":1,.*\"dup\":false" $id "{\"type\":\"note\",\"body\":\"hi\"}"'
check "a repeated request is stored once" 'post 200 "\"seq\":1,.*\"dup\":true" $id "{\"type\":\"note\",\"body\":\"hi\"}"'
check "the API requires a key" 'ask 401 key /api/rooms/lobby/messages'
check "a copy of the log is made" \
    'ask 201 path /api/backup "$api_key" --post "" && [[ -s $(sed "s/.*:\"//; s/\".*//" "$work/out") ]]'
expect "a second hub cannot use the same log" 1 "another hub" serve hub --config "$work/hub.json" --port 0
kill -KILL $hub_pid
wait $hub_pid 2>/dev/null
start_hub
check "stored messages survive kill -9" \
    'ask 200 "\"body\":\"hi\"" /api/rooms/lobby/messages "$api_key"'
check "the rooms keep their epochs after it" 'ask 200 "\"renewed\":false" /status.json && ! grep -q "new epochs" "$work/hub.log"'
# Another process holds the lock with which SQLite allows one writer.
mkfifo "$work/held"
python3 "$here/hold.py" "$work/hub/rooms.sqlite-shm" >"$work/held" 2>"$work/err" &
holder=$!
servers+=($holder)
first_line "$work/held" >/dev/null
began=$SECONDS
# If the lock is released in time, the message is stored.
post 201 "" 01890000-0000-7000-8000-000000000002 "{\"type\":\"note\",\"body\":\"held\"}" &
posting=$!
until_has "$work/hub.log" "the log cannot be written" $hub_pid
check "a log locked by another process is reported within seconds" \
    '((SECONDS - began < 20)) && grep -q "the log cannot be written" "$work/hub.log"'
check "the hub is not ready while its log is locked" 'ask 503 "" /readyz && ask 200 "alive" /healthz'
kill $holder
wait $holder 2>/dev/null
until_has "$work/hub.log" "the log can be written again" $hub_pid
check "the hub is ready again after the lock is released" 'grep -q "the log can be written again" "$work/hub.log" && ask 200 ready /readyz'
wait $posting
kill -TERM $hub_pid
wait $hub_pid
status=$?
check "SIGTERM ends a hub with status 0" '[[ $status == 0 ]]'
start_hub --new-epochs
check "serve hub --new-epochs gives all rooms new epochs, and reports it" \
    'grep -q "it was asked for.*all rooms have new epochs" "$work/hub.log" && ask 200 "\"renewed\":true" /status.json'
kill -TERM $hub_pid
wait $hub_pid

# --- TLS
mkfifo "$work/tls-url"
: >"$work/tls.log"
"$tool" serve echo --port 0 --tls-self-signed >"$work/tls-url" 2>"$work/tls.log" &
tls_pid=$!
servers+=($tls_pid)
tls_url=$(first_line "$work/tls-url")
until_has "$work/tls.log" "--ca" $tls_pid
ca=$(sed -n 's/.*--ca \([^ ]*\) .*/\1/p' "$work/tls.log")
expect "an unknown authority is refused" 5 "certificate|TLS" connect "$tls_url" -x hi
run connect "$tls_url" --ca "$ca" -x hi --wait 0.2 </dev/null
check "--ca makes it trusted" '[[ $status == 0 ]] && out_is hi'
run connect "${tls_url/127.0.0.1/localhost}" --ca "$ca" -x hi --wait 0.2 </dev/null
check "--ca makes it trusted by name" '[[ $status == 0 ]] && out_is hi'
run connect "$tls_url" --insecure -x hi --wait 0.2 </dev/null
check "--insecure connects and warns" '[[ $status == 0 ]] && out_is hi && err_has "WARNING: .*NOT checked"'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=other.example \
    -addext subjectAltName=DNS:other.example -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
mkfifo "$work/other-url"
"$tool" serve echo --port 0 --tls-cert "$work/cert.pem" --tls-key "$work/key.pem" >"$work/other-url" 2>/dev/null &
servers+=($!)
other_url=$(first_line "$work/other-url")
run pin "$tls_url" --ca "$ca" </dev/null
own_pin=$(openssl x509 -in "$ca" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | openssl base64 -A)
check "pin prints the same pin as openssl, ready to paste" '[[ $status == 0 ]] && grep -qF "try Pin(\"sha256/$own_pin\")" "$work/out"'
run pin "$tls_url" --insecure --json </dev/null
check "pin --insecure --json warns, and has both pins" '[[ $status == 0 ]] && err_has "WARNING: " && python3 -c "
import json, sys
row = json.load(open(sys.argv[1]))[\"chain\"][0]
assert row[\"publicKeyPin\"] == \"sha256/\" + sys.argv[2] and row[\"certificatePin\"].startswith(\"cert-sha256/\")" "$work/out" "$own_pin"'
run pin "$tls_url" --ca "$ca" --cert "$work/none.pem" </dev/null
check "pin accepts a client certificate" '[[ $status == 64 ]] && err_has "cannot read"'
run connect "$tls_url" --ca "$ca" --pin "sha256/$own_pin" -x hi --wait 0.2 </dev/null
check "--pin accepts the output of pin" '[[ $status == 0 ]] && out_is hi'
other_pin=sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
expect "a wrong --pin shows the pins of the chain" 5 "none of the pins for 127.0.0.1, but sha256/${own_pin//+/\\+}" \
    connect "$tls_url" --ca "$ca" --pin "$other_pin" -x hi
run connect "$tls_url" --ca "$ca" --pin "$other_pin" --pin-report-only -x hi --wait 0.2 </dev/null
check "--pin-report-only connects and warns" '[[ $status == 0 ]] && out_is hi && err_has "WARNING: the chain of 127.0.0.1 has none of the pins"'
expect "bench checks pins" 5 "none of the pins" bench "$tls_url" --ca "$ca" --pin "$other_pin" "${brief[@]}"
run bench "$tls_url" --ca "$ca" --pin "$other_pin" --pin-report-only "${brief[@]}" </dev/null
check "bench warns once with --pin-report-only" '[[ $status == 0 && $(grep -c WARNING "$work/err") == 1 ]]'
expect "an error names the option to use" 5 "is the option --ca, with a PEM file" connect "$tls_url" -x hi
expect "--pin of a host without TLS" 64 "wss: URLs" connect $any --pin "$other_pin"
expect "--key without --cert" 64 "give both" connect "$tls_url" --key "$ca"
expect "--tls-min with an invalid version" 64 "use 1.2 or 1.3" connect "$tls_url" --tls-min 1.1
expect "pin refuses an untrusted chain" 5 "self-signed|vouches" pin "$tls_url"
expect "pin checks the requested name" 5 "not for other.example" pin "$tls_url" --ca "$ca" --server-name other.example
expect "pin of ws:" 64 "give a wss: URL" pin ws://127.0.0.1/
expect "a certificate for another host is refused" 5 "certificate|TLS|host" connect "$other_url" --ca "$work/cert.pem" -x hi
expect "ws: to a TLS port fails" "[2-7]" "." connect "${tls_url/wss/ws}" -x hi
expect "wss: to a plain port is a TLS failure" 5 "TLS" connect "${url/ws/wss}" -x hi
kill -TERM $tls_pid
wait $tls_pid
check "the self-signed certificate is deleted" '[[ -n $ca && ! -e $ca ]]'

# --- Messages in several formats
for number in {1..200}; do echo "{\"symbol\":\"SAIL\",\"price\":189.$number,\"open\":true}"; done >"$work/messages.ndjson"
{ echo '['; sed '$!s/$/,/' "$work/messages.ndjson"; echo ']'; } >"$work/messages.json"
# It needs a second of processor time, which a busy machine may lack.
measure() {
    timeout 300 "$tool" measure "$@" >"$work/out" 2>"$work/err"
    status=$?
}
measure "$work/messages.json" </dev/null
check "measure shows three formats, with bytes, times and bars" \
    '[[ $status == 0 && $(grep -Ec "^(JSON|MessagePack|CBOR) .*%" "$work/out") == 3 && $(grep -c "with takeover  █" "$work/out") == 3 ]]'
check "measure recommends JSON or binary" 'grep -Eq "^(JSON|Binary).*: .* than JSON" "$work/out"'
measure - --json <"$work/messages.ndjson"
check "measure reads lines from standard input, and its JSON agrees with Python's byte counts" '[[ $status == 0 ]] && python3 -c "
import json, sys
report = json.load(open(sys.argv[1]))
messages = [json.loads(line) for line in open(sys.argv[2])]
plain = sum(len(json.dumps(message, separators=(\",\", \":\"))) for message in messages)
json_row = report[\"rows\"][0]
assert report[\"messages\"] == 200 and json_row[\"plain\"][\"bytes\"] == plain, report
assert json_row[\"deflatedWithTakeover\"][\"bytes\"] < json_row[\"deflated\"][\"bytes\"], report
" "$work/out" "$work/messages.ndjson"'
printf '{"a":1}\n{"a":}\n' >"$work/broken.ndjson"
expect "measure reports the position of invalid JSON" 65 "line 2, column 6; byte 13" measure "$work/broken.ndjson"
expect "measure limits its input" 65 "more than 1 KiB; see --max-size" measure "$work/messages.json" --max-size 1K
expect "measure needs a message" 65 "no message" measure /dev/null
expect "measure needs a readable file" 64 "cannot be read" measure "$work/none.json"

# --- The prompt
relay timeout 120 python3 "$here/prompt.py" "$tool" "${fake##*:}"

# --- The demo
timeout 300 "$tool" demo </dev/null >"$work/out" 2>"$work/err"
status=$?
check "the demo ends with status 0" '[[ $status == 0 ]]'
check "the demo cuts the link twice and kills the hub" '[[ $(grep -c "CUT" "$work/out") == 2 && $(grep -c "KILLED with -9" "$work/out") == 1 ]]'
check "the demo counts what arrived" 'grep -q "sent 24, stored 24, delivered 24, lost 0, doubled 0, in one order for all" "$work/out"'
check "the demo draws the connection and the times over time" '[[ $(grep -c -e "█ connected" -e "until stored: ▁" "$work/out") == 2 ]]'
check "the demo shows the next steps" 'grep -q "holdfast chat ws://" "$work/out" && grep -q "http://127.0.0.1:9001/" "$work/out"'

# --- Chat, rooms
expect "rooms without a name or a token" 64 "say who you are" rooms send $any --room lobby hi
expect "an invalid room" 64 "1 to 128 bytes" rooms send $any --room "" --name ann hi
expect "a payload that is not JSON" 64 "is not JSON" rooms send $any --room lobby --name ann --type game.move '{'
expect "a --name and a --token" 64 "exclude each other" chat $any --room lobby --name ann --token x
expect "rooms tail with an invalid --from" 64 "from" rooms tail $any --room lobby --name ann --from yesterday
mkfifo "$work/rooms-url"
"$tool" serve hub --dev --port 0 --data "$work/rooms-hub" >"$work/rooms-url" 2>"$work/rooms.log" &
rooms_pid=$!
servers+=($rooms_pid)
rooms_url=$(first_line "$work/rooms-url")
run rooms send "$rooms_url" --room lobby --name ann one two </dev/null
check "rooms send waits until all messages are stored" '[[ $status == 0 && $(grep -c "\"stored\":true" "$work/out") == 2 ]]'
run rooms tail "$rooms_url" --room lobby --name bob --from beginning --count 2 --text </dev/null
check "rooms tail prints the entries in order" '[[ $status == 0 && $(cat "$work/out") == "ann: one"$'"'\n'"'"ann: two" ]]'
run rooms tail "$rooms_url" --room lobby --name bob --from 1 --count 1 </dev/null
check "rooms tail begins after a number" '[[ $status == 0 ]] && grep -q "\"seq\":2," "$work/out" && ! grep -q replaced "$work/out"'
for number in 1 2; do
    run rooms tail "$rooms_url" --room lobby --name bob --from beginning --count 1 --store "$work/bob" </dev/null
    check "rooms tail with a store continues after its last entry: $number" \
        '[[ $status == 0 && $(wc -l <"$work/out") == 1 ]] && grep -q "\"seq\":$number," "$work/out"'
done
run rooms tail "$rooms_url" --room lobby --name bob --from -1 --count 1 </dev/null
check "rooms tail starts with the last entry" '[[ $status == 0 ]] && grep -q "\"seq\":2," "$work/out"'
run rooms history "$rooms_url" --room lobby --name bob --limit 1 </dev/null
check "rooms history prints the last entry" '[[ $status == 0 && $(wc -l <"$work/out") == 1 ]] && grep -q "\"text\":\"two\"" "$work/out"'
run chat "$rooms_url" --room lobby --name cy <<<"three"
check "chat in a pipe sends lines and prints entries" '[[ $status == 0 ]] && grep -q "^cy: three" "$work/out" && grep -q "^ann: one" "$work/out"'
# long: a line above the hub's limit for a message.
long() { head -c 3000000 /dev/zero | tr '\0' x; }
{ echo before; long; printf '\nafter\n'; } >"$work/lines"
run rooms send "$rooms_url" --room lines --name ann <"$work/lines"
check "rooms send: a refused line does not block others" \
    '[[ $status == 3 ]] && grep -o "stored\":[a-z]*" "$work/out" | cut -d: -f2 | tr "\n" " " | grep -q "^true false true $"'
run chat "$rooms_url" --room lines --name cy --plain <"$work/lines"
check "a refused line of a chat does not block others" '[[ $status == 3 ]] && grep -q "^cy: before" "$work/out" && grep -q "^cy: after" "$work/out" && err_has "too long"'
run rooms send "$rooms_url" --room lines --name ann < <(seq 1500)
check "rooms send waits while the outbox is full" '[[ $status == 0 && $(grep -c "stored\":true" "$work/out") == 1500 ]]'
run rooms send $any --room lines --name ann --timeout 0.5 < <(seq 20)
check "the timeout applies to all messages together" '[[ $status == 4 && $(grep -c "stored\":false" "$work/out") == 20 ]]'
run rooms send "$rooms_url" --room evil --name $'m\xe2\x80\xaea' hi </dev/null
check "a name that hides characters is refused" '[[ $status == 3 ]] && grep -q 2001 "$work/out"'
run rooms send "$rooms_url" --room evil --name mia --type game.move $'{"a":"\xc2\x9b2J\xe2\x80\xae"}' </dev/null
run rooms history "$rooms_url" --room evil --name bob </dev/null
check "JSON of other clients cannot control the terminal" 'grep -q "u009B2J.u202E" "$work/out"'
run rooms send "$rooms_url" --room lobby --token nonsense hi </dev/null
check "an invalid token is refused" '[[ $status == 3 ]] && grep -q 2001 "$work/out"'
run rooms send $any --room lobby --name dora --store "$work/dora" --timeout 0.5 later </dev/null
check "a message that cannot be sent is reported" '[[ $status == 4 ]] && grep -q "\"stored\":false,\"retry\":true" "$work/out"'
run rooms send "$rooms_url" --room lobby --name dora --store "$work/dora" now </dev/null
check "it is sent by the next run with its store, before new messages" '[[ $status == 0 && $(grep -c "\"stored\":true" "$work/out") == 2 ]]'
run rooms history "$rooms_url" --room lobby --name bob --text </dev/null
check "in its order" 'tail -n 2 "$work/out" | tr "\n" " " | grep -q "dora: later dora: now"'
kill "$rooms_pid"
wait "$rooms_pid" 2>/dev/null
relay timeout 600 python3 "$here/chat.py" "$tool"

# Messages that a hub refuses permanently.
head -c 48 /dev/zero | tr '\0' k >"$work/hub-secret"
mkfifo "$work/strict-url"
"$tool" serve hub --secret-file "$work/hub-secret" --port 0 --data "$work/strict-hub" >"$work/strict-url" 2>"$work/rooms.log" &
rooms_pid=$!
servers+=($rooms_pid)
rooms_url=$(first_line "$work/strict-url")
# token RIGHTS: a token of dora with these rights in all rooms.
token() { python3 "$here/hub_token.py" "$work/hub-secret" dora "$1"; }
run rooms send "$rooms_url" --room lobby --token "$(token r)" --store "$work/strict" one two </dev/null
check "messages without the right are refused" '[[ $status == 3 && $(grep -c "\"stored\":false,\"retry\":false" "$work/out") == 2 ]]'
run rooms outbox --store "$work/strict" </dev/null
check "rooms outbox prints failed messages with the reason" \
    '[[ $status == 0 && $(grep -c "\"state\":\"failed\",\"code\":" "$work/out") == 2 ]] && grep -q "\"text\":\"one\"" "$work/out"'
run rooms send "$rooms_url" --room lobby --token "$(token rw)" --store "$work/strict" three </dev/null
check "failed messages do not affect a later run" '[[ $status == 0 && $(wc -l <"$work/out") == 1 ]] && err_has "2 messages from earlier runs"'
run rooms outbox --store "$work/strict" --retry </dev/null
check "rooms outbox queues them again" '[[ $status == 0 && $(wc -l <"$work/out") == 2 ]]'
run rooms send "$rooms_url" --room lobby --token "$(token rw)" --store "$work/strict" </dev/null
check "they are sent by the next run" '[[ $status == 0 && $(grep -c "stored\":true" "$work/out") == 2 ]]'
run rooms history "$rooms_url" --room lobby --token "$(token r)" --text </dev/null
check "they are sent once" '[[ $(tr "\n" " " <"$work/out") == "dora: three dora: one dora: two " ]]'
run rooms send "$rooms_url" --room lobby --token "$(token r)" --store "$work/strict" four </dev/null
run rooms outbox --store "$work/strict" --discard </dev/null
check "rooms outbox discards them" '[[ $status == 0 && $(wc -l <"$work/out") == 1 ]]'
run rooms outbox --store "$work/strict" </dev/null
check "discarded messages are gone" '[[ $status == 0 && ! -s $work/out ]]'
expect "a missing outbox" 1 "does not exist" rooms outbox --store "$work/none"
expect "an outbox is retried or discarded" 64 "exclude each other" rooms outbox --store "$work/strict" --retry --discard
kill "$rooms_pid"
wait "$rooms_pid" 2>/dev/null

# --- WAMP
source "$here/wamp.sh"

echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
