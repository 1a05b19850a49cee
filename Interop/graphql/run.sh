#!/bin/bash
# Our GraphQL client with Strawberry, Ariadne, and a server that misbehaves on purpose; see ../README.md.
#
#   Interop/graphql/run.sh [rows] [tool] [cuts]     (no argument: all)
#
# CUTS and KILLS change how often connections are cut and the server is killed with -9. HOLDFAST names the tool, HOLDFAST_BIN a program with
# our peer's commands. Without them the release builds are made first.
set -euo pipefail
# shellcheck source=../tool.sh
source "$(dirname "$0")/../tool.sh"
CUTS=${CUTS:-200} KILLS=${KILLS:-10}
parts=${*:-rows tool cuts}

need_graphql
HOLDFAST=$(swift_program HOLDFAST holdfast)
PEER=$(swift_program HOLDFAST_BIN HoldfastPeer)
HERE=$ROOT/Interop/graphql
export PYTHONDONTWRITEBYTECODE=1

if [[ " $parts " == *" rows "* || " $parts " == *" tool "* ]]; then
    strawberry=$(free_port) ariadne=$(free_port) scripted=$(free_port)
    launch "$strawberry" "$GRAPHQL_PYTHON" "$HERE/strawberry_server.py" "$strawberry" "$work/rows.txt"
    launch "$ariadne" "$GRAPHQL_PYTHON" "$HERE/ariadne_server.py" "$ariadne"
    launch "$scripted" "$GRAPHQL_PYTHON" "$HERE/scripted_server.py" "$scripted"
    await_all
fi
if [[ " $parts " == *" rows "* ]]; then
    tally timeout 300 "$PEER" graphql-rows "$strawberry" "$ariadne" "$scripted"
fi
if [[ " $parts " == *" tool "* ]]; then
    url=ws://127.0.0.1:$strawberry/graphql
    secure=ws://127.0.0.1:$strawberry/secure
    prints "subscribe prints each event" 0 $'^{"count":0}\n{"count":1}\n{"count":2}\n$' graphql subscribe "$url" 'subscription { count(to: 3) }'
    prints "subscribe --legacy" 0 $'^{"count":0}\n$' graphql subscribe "$url" 'subscription { count(to: 1) }' --legacy
    prints "subscribe --count ends after so many" 0 $'^{"count":0}\n{"count":1}\n$' graphql subscribe "$url" 'subscription { count(to: 100000) }' --count 2
    prints "errors of a field come with the data" 0 '"errors":\[\{"message":"negative"' graphql subscribe "$url" 'subscription { items { half } }'
    prints "query with variables and a name" 0 $'^{"hello":"hello ann"}\n$' graphql query "$url" 'query Q($n: String) { hello(name: $n) }' \
        --variables '{"n":"ann"}' --name Q
    prints "a query with a syntax error" 9 'the server closed the connection because of the operation' graphql query "$url" '{ hello('
    prints "mutate" 0 $'^{"add":[0-9]+}\n$' graphql mutate "$url" 'mutation { add(key: "tool") }'
    prints "a payload logs in" 0 $'^{"count":0}\n$' graphql subscribe "$secure" 'subscription { count(to: 1) }' --payload '{"token":"good"}'
    prints "a bad payload is refused" 3 'refused the connection' graphql query "$secure" '{ hello }' --payload '{"token":"sesame-sesame"}'
    prints "--trace shows the messages" 0 'connection_init.*subscribe' graphql subscribe "$url" 'subscription { whoami }' --trace --payload '{"token":"sesame-sesame"}'
    status=0
    "$HOLDFAST" graphql query "$url" '{ hello }' --trace --payload '{"token":"sesame-sesame"}' > "$work/output" 2>&1 || status=$?
    if [ $status = 0 ] && ! grep -q sesame "$work/output"; then status=0; else status=1; fi
    report $status "tool: --trace leaves out the strings of the payload"
    prints "variables must be an object" 64 'give a JSON object' graphql query "$url" '{ hello }' --variables '[1]'
    prints "no server" 4 'refused|unreachable' graphql query ws://127.0.0.1:1/ '{ hello }' --patience 1
    diagnose "both protocols of Strawberry, of which one answers queries, and how it refuses a syntax error" \
        "[one['subprotocol'] for one in seen['graphQL']] == ['graphql-transport-ws', 'graphql-ws'] and [one['answersQuery'] for one in seen['graphQL']] == [True, False] and 'graphQL.closes' in found and 'graphQL.acknowledged' in found" "$url"
    diagnose "a server that wants a token" "seen['graphQL'][0]['refusal']['closeCode'] == 4403 and 'graphQL.refused' in found" "$secure"
    diagnose "Ariadne's pongs, and one protocol" "len(seen['graphQL']) == 1 and 'graphQL.pong' in found and 'graphQL.query' in found and '--subprotocol graphql-transport-ws' in found['graphQL.required']['advice']" \
        "ws://127.0.0.1:$ariadne/graphql"
    diagnose "only the legacy protocol" "found['graphQL.legacy']['severity'] == 'warning' and 'graphQL.acknowledged' in found" \
        "ws://127.0.0.1:$ariadne/legacy"
    diagnose "a server without GraphQL" "not seen['graphQL'] and 'graphQL.spoken' not in found and seen['upgrade']['status'] == 101" \
        "ws://127.0.0.1:$scripted/no-subproto"
    # The snippet of the documentation, at the same server.
    snippet=$(dirname "$PEER")/GraphQLEvents
    if [ -x "$snippet" ]; then
        status=0
        timeout 60 "$snippet" "$url" > "$work/output" 2>&1 || status=$?
        grep -q '^closed' "$work/output" && grep -q '^hello ann' "$work/output" && grep -q '^added:' "$work/output" || status=1
        report $status "the snippet of the documentation runs to its end"
    fi
fi
if [[ " $parts " == *" cuts "* ]]; then
    tally timeout 600 "$PEER" graphql-cuts "$work/cuts.txt" "$GRAPHQL_PYTHON" "$HERE/strawberry_server.py" --cuts "$CUTS" --kills "$KILLS"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
