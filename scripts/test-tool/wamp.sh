# shellcheck shell=bash disable=SC2154
# The WAMP commands with the tool's own router. Sourced by test-tool.sh, whose functions and variables it uses.

# --- Usage
expect "wamp call without a procedure" 64 "Missing expected argument" wamp call $any realm1
expect "wamp: an invalid URI" 64 "is not a WAMP URI" wamp call $any realm1 com..app
expect "wamp: an invalid pattern" 64 "is not a WAMP URI" wamp subscribe $any realm1 "com app" --match prefix
expect "wamp: a keyword without a value" 64 "keyword" wamp call $any realm1 com.app --keyword a
expect "wamp: a repeated keyword" 64 "is given twice" wamp call $any realm1 com.app --keyword a=1 --keyword a=2
expect "wamp: a method without a name" 64 "needs --user" wamp call $any realm1 com.app --auth ticket
expect "wamp: an invalid key of cryptosign" 64 "the secret is not a key" \
    wamp call $any realm1 com.app --auth cryptosign --secret 123
expect "wamp: a method without a secret" 64 "there is no secret" wamp call $any realm1 com.app --auth ticket --user ann
expect "wamp: an unknown method" 64 "Please provide one of 'anonymous'" wamp call $any realm1 com.app --auth magic --user ann
expect "wamp publish: a session that is not a number" 64 "exclude" wamp publish $any realm1 com.app --exclude ann
expect "wamp register without an answer" 64 "say how to answer" wamp register $any realm1 com.app
expect "wamp register with two answers" 64 "exclude each other" wamp register $any realm1 com.app --echo --reply 1
expect "wamp register: --progress without a command" 64 "needs --exec" wamp register $any realm1 com.app --echo --progress
expect "wamp subscribe with a count of zero" 64 "at least 1" wamp subscribe $any realm1 com.app --count 0
expect "wamp: --payloads without --trace" 64 "needs --trace" wamp call $any realm1 com.app --payloads
expect "wamp: no router listens" 4 "127.0.0.1:1" wamp call $any realm1 com.app --patience 0.5
expect "wamp: a refused upgrade" 3 "401" wamp call "$fake/401" realm1 com.app

# start_router FILE ARGUMENT…: starts a router in the background, with router_pid and router. FILE gets its log.
mkfifo "$work/wamp-url"
start_router() {
    local log=$1
    shift
    : >"$log"
    "$tool" serve wamp "$@" >"$work/wamp-url" 2>"$log" </dev/null &
    router_pid=$!
    servers+=($router_pid)
    router=$(first_line "$work/wamp-url")
}
# background NAME ARGUMENT…: starts a wamp command in the background, with NAME.out, NAME.err and its process as $background.
background() {
    local name=$1
    shift
    : >"$work/$name.out" >"$work/$name.err"
    "$tool" wamp "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null &
    background=$!
    servers+=($background)
    until_has "$work/$name.err" "^(registered|subscribed)" $background
}
# at_once COMMAND… [-- COMMAND…]…: runs wamp commands concurrently, with their output in one file.
at_once() {
    local words=() pids=()
    : >"$work/out" >"$work/err"
    while (($# > 0)); do
        while (($# > 0)) && [[ $1 != -- ]]; do words+=("$1"); shift; done
        shift
        timeout 120 "$tool" wamp "${words[@]}" >>"$work/out" 2>>"$work/err" </dev/null &
        pids+=($!)
        words=()
    done
    wait "${pids[@]}"
}
# stop PID SIGNAL: ends a process. Its status is in $status.
stop() {
    kill "-$2" "$1"
    { wait "$1"; } 2>/dev/null
    status=$?
}

start_router "$work/router.log" --port 0
check "serve wamp prints its URL" '[[ $router == ws://127.0.0.1:*/* ]]'

# --- Calls
expect "a call of an unregistered procedure has its own status" 9 "no_such_procedure" wamp call "$router" realm1 com.example.none
background echo register "$router" realm1 com.example.echo --echo
echo_pid=$background
run wamp call "$router" realm1 com.example.echo 7 </dev/null
check "a single value is printed as it is" '[[ $status == 0 ]] && out_is 7'
run wamp call "$router" realm1 com.example.echo </dev/null
check "an empty result is null" '[[ $status == 0 ]] && out_is null'
run wamp call "$router" realm1 com.example.echo 1 two '"3"' '{"a":[true,null,1.5]}' --keyword b=2 --keyword c=d </dev/null
check "arguments and keywords are returned" \
    '[[ $status == 0 ]] && out_is '"'"'{"args":[1,"two","3",{"a":[true,null,1.5]}],"kwargs":{"b":2,"c":"d"}}'"'"
run wamp call "$router" realm1 com.example.echo --full -- -7 </dev/null
check "--full prints all arguments, and negative numbers follow --" '[[ $status == 0 ]] && out_is '"'"'{"args":[-7],"kwargs":{}}'"'"
check "a callee prints its calls" 'grep -q "^{\"procedure\":\"com.example.echo\",.*\"args\":\[7\]" "$work/echo.out"'
for serialization in json msgpack cbor; do
    run wamp call "$router" realm1 com.example.echo '{"bin":"\u0000EBES","text":"ü","n":9007199254740993}' --serialization $serialization </dev/null
    check "a call in $serialization, with bytes" \
        '[[ $status == 0 ]] && out_is '"'"'{"bin":"\u0000EBES","text":"ü","n":9007199254740993}'"'"
done
run wamp call "$router" realm1 com.example.echo $'\e[2J\u202e' </dev/null
check "results cannot control the terminal" '[[ $status == 0 ]] && out_is '"'"'"\u001b[2J\u202E"'"'"
expect "a procedure that is already registered" 9 "procedure_already_exists" wamp register "$router" realm1 com.example.echo --echo
stop $echo_pid TERM
check "SIGTERM ends a callee with status 143" '[[ $status == 143 ]]'
expect "the procedure of an ended callee is gone" 9 "no_such_procedure" wamp call "$router" realm1 com.example.echo

background reply register "$router" realm1 com.example.reply --reply '{"a":1}' --count 1
run wamp call "$router" realm1 com.example.reply </dev/null
check "--reply returns its value" '[[ $status == 0 ]] && out_is '"'"'{"a":1}'"'"
wait $background
status=$?
check "--count ends a callee with status 0, after its last answer" '[[ $status == 0 && $(wc -l <"$work/reply.out") == 1 ]]'

background words register "$router" realm1 com.example. --match prefix --exec \
    'read -r call; case $call in *fail*) echo "not that" >&2; exit 3;; *sleep*) echo begun >&2; exec sleep 600;; esac; echo "$call"'
words_pid=$background
run wamp call "$router" realm1 com.example.words hello --keyword x=1 </dev/null
check "--exec gets the call as JSON, under the URI that was called" \
    '[[ $status == 0 ]] && grep -q "{\"procedure\":\"com.example.words\",.*\"args\":\[\"hello\"\],\"kwargs\":{\"x\":1}}" "$work/out"'
expect "a command that fails is an error, with its output" 9 "runtime_error.*not that" wamp call "$router" realm1 com.example.fail
check "with its status" 'err_has "\"status\":3"'
expect "a call that takes too long has its own status" 8 "timed out" wamp call "$router" realm1 com.example.sleep --timeout 0.5
: >"$work/out" >"$work/err"
"$tool" wamp call "$router" realm1 com.example.sleep again --trace >"$work/out" 2>"$work/err" </dev/null &
client=$!
servers+=($client)
until_has "$work/words.out" again $words_pid
stop $client INT
check "Control-C cancels a call, with status 130" '[[ $status == 130 ]] && err_has "→ CANCEL"'
stop $words_pid TERM
background parts register "$router" realm1 com.example.parts --exec 'echo 1; echo two; echo "[3]"' --progress
run wamp call "$router" realm1 com.example.parts --progress </dev/null
check "progressive results are lines" '[[ $status == 0 ]] && out_is $'"'"'1\n"two"\n[3]'"'"
run wamp call "$router" realm1 com.example.parts </dev/null
check "a caller without progress gets the final result" '[[ $status == 0 ]] && out_is "[3]"'
stop $background TERM

background one register "$router" realm1 com.example.shared --reply 1 --sharing roundrobin
one_pid=$background
background two register "$router" realm1 com.example.shared --reply 2 --sharing roundrobin
two_pid=$background
at_once call "$router" realm1 com.example.shared -- call "$router" realm1 com.example.shared
check "--sharing: two callees are called in turn" '[[ $(sort "$work/out" | tr -d "\n") == 12 ]]'
expect "a shared procedure is not taken over unless the router supports it" 9 "procedure_already_exists" \
    wamp register "$router" realm1 com.example.shared --reply 3 --take-over
stop $one_pid TERM
stop $two_pid TERM

# --- Events
background all subscribe "$router" realm1 com.example.news --count 3
all_pid=$background
background some subscribe "$router" realm1 com.example. --match prefix
some_pid=$background
background wild subscribe "$router" realm1 com..news --match wildcard --serialization json
wild_pid=$background
run wamp publish "$router" realm1 com.example.news 1 --ack </dev/null
check "--ack prints the publication" '[[ $status == 0 ]] && grep -Eq "^{\"publication\":[0-9]+}$" "$work/out"'
run wamp publish "$router" realm1 com.example.news 2 --keyword a=b </dev/null
check "without --ack nothing is printed" '[[ $status == 0 && ! -s $work/out ]]'
run wamp publish "$router" realm1 com.example.other 3 --retain --ack </dev/null
run wamp publish "$router" realm1 com.example.news 4 --ack </dev/null
wait $all_pid
status=$?
check "a subscriber prints events in order, and --count ends it" '[[ $status == 0 ]] &&
    [[ $(sed "s/.*\"args\"://" "$work/all.out" | tr "\n" " ") == "[1],\"kwargs\":{}} [2],\"kwargs\":{\"a\":\"b\"}} [4],\"kwargs\":{}} " ]]'
until_has "$work/some.out" '"args":\[4\]' $some_pid
check "a prefix matches more, and prints the topic" '[[ $(wc -l <"$work/some.out") == 4 ]] && grep -q "\"topic\":\"com.example.other\"" "$work/some.out"'
until_has "$work/wild.out" '"args":\[4\]' $wild_pid
check "a wildcard matches one component" '[[ $(wc -l <"$work/wild.out") == 3 ]]'
stop $some_pid INT
check "Control-C ends a subscriber with status 130" '[[ $status == 130 ]]'
stop $wild_pid TERM
run wamp subscribe "$router" realm1 com.example.other --retained --count 1 </dev/null
check "a retained event reaches later subscribers" '[[ $status == 0 ]] && grep -q "\"args\":\[3\]" "$work/out"'
run wamp subscribe "$router" realm1 com.example.none --for 0.3 </dev/null
check "--for ends a subscriber with status 0" '[[ $status == 0 && ! -s $work/out ]]'

background near subscribe "$router" realm1 com.example.near
near_pid=$background
run wamp call "$router" realm1 wamp.subscription.lookup com.example.near </dev/null
run wamp call "$router" realm1 wamp.subscription.list_subscribers "$(cat "$work/out")" </dev/null
near=$(tr -d '[]' <"$work/out")
publish=(publish "$router" realm1 com.example.near --ack)
at_once "${publish[@]}" --exclude "$near" -- "${publish[@]}" --eligible 1 -- "${publish[@]}" --exclude-role anonymous -- \
    "${publish[@]}" --eligible-role nobody -- "${publish[@]}" --eligible-user nobody
check "events for other subscribers are accepted" '[[ $(grep -c publication "$work/out") == 5 ]]'
run wamp "${publish[@]}" last --eligible "$near" --eligible-role anonymous --exclude-user nobody --to-me </dev/null
until_has "$work/near.out" '"last"' $near_pid
check "--exclude and --eligible restrict an event by session, user and role" \
    '[[ $status == 0 && $(wc -l <"$work/near.out") == 1 ]] && grep -q "\"args\":\[\"last\"\]" "$work/near.out"'
stop $near_pid TERM

# --- In words
run wamp publish "$router" realm1 com.example.news s3same --ack --trace </dev/null
check "--trace shows messages in words, without their payloads" '[[ $status == 0 ]] && err_has "→ HELLO" && err_has "← WELCOME" &&
    err_has "→ PUBLISH #1 com.example.news" && err_has "← PUBLISHED #1" && ! err_has s3same'
run wamp publish "$router" realm1 com.example.news s3same --ack --trace --payloads </dev/null
check "--payloads shows the payloads" 'err_has "PUBLISH .*s3same"'

# --- A router that is killed
: >"$work/killed.out"
background killed subscribe "$router" realm1 com.example.news
killed_pid=$background
background callee register "$router" realm1 com.example.echo --echo
callee_pid=$background
port=${router##*127.0.0.1:}
port=${port%%/*}
kill -KILL $router_pid
{ wait $router_pid; } 2>/dev/null
start_router "$work/router.log" --port "$port"
until_has "$work/killed.out" gap $killed_pid
run wamp publish "$router" realm1 com.example.news after --ack </dev/null
until_has "$work/killed.out" after $killed_pid
check "a subscription survives a restart of the router, and reports a possible gap" \
    '[[ $(cut -d, -f1 "$work/killed.out" | head -n 1) == "{\"gap\":\"reconnected\"}" ]] && grep -q "after" "$work/killed.out"'
# The callee reconnects with its own backoff.
end=$((SECONDS + 30))
until run wamp call "$router" realm1 com.example.echo 1 --timeout 30 </dev/null; [[ $status == 0 ]] || ((SECONDS >= end)); do pause; done
check "a registration survives a restart of the router" '[[ $status == 0 ]] && out_is 1'
stop $killed_pid TERM
stop $callee_pid TERM
stop $router_pid TERM
check "SIGTERM ends the router with status 0" '[[ $status == 0 ]]'

# --- Who may join
start_router "$work/router.log" --port 0 --realm secure --user ann:s3same --cra bob:h0ney
HOLDFAST_WAMP_SECRET=s3same run wamp call "$router" secure wamp.session.count --auth ticket --user ann --trace --payloads </dev/null
check "a ticket is accepted, and not shown" '[[ $status == 0 ]] && out_is 1 && err_has "→ AUTHENTICATE" && ! err_has s3same'
echo h0ney >"$work/wamp-secret"
run wamp call "$router" secure wamp.session.count --auth cra --user bob --secret-file "$work/wamp-secret" </dev/null
check "a challenge is accepted" '[[ $status == 0 ]] && out_is 1'
HOLDFAST_WAMP_SECRET=wr0ng expect "a wrong ticket is refused" 3 "authentication|denied|failed|authorized" \
    wamp call "$router" secure com.example.echo --auth ticket --user ann
check "the wrong ticket is not shown" '! err_has wr0ng'
expect "an anonymous client is refused" 3 "wamp.error" wamp call "$router" secure com.example.echo
expect "an unknown realm" 3 "no_such_realm" wamp call "$router" nowhere com.example.echo
check "the router shows no secret" '! grep -Eq "s3same|h0ney|wr0ng" "$work/router.log"'
stop $router_pid TERM

# --- Users of a file, and TLS
printf '# Who may join\nticket ann s3same frontend\nsalted sal h0ney\nscram eve h0ney\n' >"$work/users"
# The public half of the key with the value 2.
echo cryptosign dee 7422b9887598068e32c4448a949adb290d0f4e35b9e01b0ee5f1a1e600fe2674 >>"$work/users"
start_router "$work/router.log" --port 0 --users "$work/users" --tls-self-signed
until_has "$work/router.log" "--ca" $router_pid
ca=$(sed -n 's/.*--ca \([^ ]*\).*/\1/p' "$work/router.log")
login="--auth ticket --user ann --secret s3same"
# shellcheck disable=SC2086
{
    expect "wss: an untrusted router" 5 "certificate|TLS" wamp call "$router" realm1 wamp.session.count $login
    run wamp call "$router" realm1 wamp.session.count $login --ca "$ca" --role frontend </dev/null
}
check "wss: --ca makes the router trusted, and --users has the user" '[[ $router == wss:* && $status == 0 ]] && out_is 1'
run wamp call "$router" realm1 wamp.session.count --auth cra --user sal --secret h0ney --ca "$ca" </dev/null
check "a salted secret is accepted" '[[ $status == 0 ]] && out_is 1'
run wamp call "$router" realm1 wamp.session.count --auth scram --user eve --secret h0ney --ca "$ca" </dev/null
check "a SCRAM password is accepted" '[[ $status == 0 ]] && out_is 1'
run wamp call "$router" realm1 wamp.session.count --auth cryptosign --user dee --secret "$(printf '%064d' 2)" --ca "$ca" </dev/null
check "a key is accepted" '[[ $status == 0 ]] && out_is 1'
expect "an unknown key is refused" 3 "wamp.error" \
    wamp call "$router" realm1 wamp.session.count --auth cryptosign --secret "$(printf '%064d' 1)" --ca "$ca"
stop $router_pid TERM
printf 'ticket ann\n' >"$work/users"
expect "serve wamp: an invalid line of --users, which is not shown" 1 "users, line 1: use METHOD NAME SECRET" \
    serve wamp --port 0 --users "$work/users"

# --- History, and the habits of others
start_router "$work/router.log" --port 0 --history 10 --quirks crossbar --allow-kill
background past subscribe "$router" realm1 com.example.past --history 10 --trace
past_pid=$background
run wamp publish "$router" realm1 com.example.past 1 --ack </dev/null
until_has "$work/past.out" '"args":\[1\]' $past_pid
session=$(sed -n 's/.*WELCOME to session \([0-9]*\).*/\1/p' "$work/past.err")
# It must not reconnect before it has missed something.
kill -STOP $past_pid
run wamp call "$router" realm1 wamp.session.kill "$session" </dev/null
for number in 2 3; do run wamp publish "$router" realm1 com.example.past $number --ack </dev/null; done
kill -CONT $past_pid
until_has "$work/past.out" gap $past_pid
until_has "$work/past.out" '"args":\[3\]' $past_pid
check "--history returns what a lost session has missed" '[[ $(grep -o "\"args\":\[.\]" "$work/past.out" | tr -dc "0-9") == 123 ]] &&
    grep -q "{\"gap\":\"filled\",\"events\":2}" "$work/past.out"'
stop $past_pid TERM
background held register "$router" realm1 com.example.held --reply 1
held_pid=$background
background taken register "$router" realm1 com.example.held --reply 2 --take-over
run wamp call "$router" realm1 com.example.held </dev/null
check "--quirks crossbar: --take-over takes a procedure from its callee" '[[ $status == 0 ]] && out_is 2'
stop $held_pid TERM
stop $background TERM
stop $router_pid TERM
