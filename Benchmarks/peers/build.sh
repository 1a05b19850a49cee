#!/bin/bash
# Installs the requirements of the peers, and builds those with newer sources into .cache/bench.
#
#   Benchmarks/peers/build.sh [beast] [websocketpp] [libwebsockets] [go] [node] [python] [swift]     (no argument: all)
#
# A peer that fails does not stop the others. It is named at the end and in .cache/bench/missing, and the exit status is 1.
set -euo pipefail
# shellcheck source=../../scripts/setup.sh
source "$(dirname "$0")/../../scripts/setup.sh"
here=$ROOT/Benchmarks/peers
target=$ROOT/.cache/bench

# As in ../load/build.sh, so that C, C++ and packaged peers have the same target.
default=(-O3)
[ "$(uname -m)" != x86_64 ] || default+=(-march=x86-64-v2)
read -ra flags <<< "${BENCH_CFLAGS:-${default[*]}}"
flags+=(-DNDEBUG -Wall -Wextra)

# is_current PROGRAM SOURCE…
is_current() {
    local program=$target/$1 source
    shift
    [ -x "$program" ] || return 1
    for source in "$@"; do
        [ "$program" -nt "$source" ] || return 1
    done
}

# compile COMPILER PROGRAM SOURCE [OPTION…]
compile() {
    local compiler=$1 program=$2 source=$here/$3
    shift 3
    is_current "$program" "$source" "$here/measure.h" && return
    say "bench: building $program"
    "$compiler" "${flags[@]}" -o "$target/$program.new" "$source" "$@"
    mv "$target/$program.new" "$target/$program"
}

build_beast() {
    need_apt g++ libboost-dev
    compile g++ beast-server beast/server.cpp -std=c++20
    compile g++ beast-client beast/client.cpp -std=c++20
}

build_websocketpp() {
    need_apt g++ libboost-dev libwebsocketpp-dev zlib1g-dev
    compile g++ websocketpp-server websocketpp/server.cpp -std=c++17 -pthread -lz
    compile g++ websocketpp-client websocketpp/client.cpp -std=c++17 -pthread
}

build_libwebsockets() {
    need_apt gcc libc6-dev libwebsockets-dev
    compile gcc libwebsockets-server libwebsockets/server.c -lwebsockets
    compile gcc libwebsockets-client libwebsockets/client.c -lwebsockets
}

# compile_go PROGRAM SOURCE…
compile_go() {
    local program=$1
    shift
    local sources=("${@/#/$here/go/}")
    is_current "$program" "${sources[@]}" && return
    say "bench: building $program"
    # Debian's Go packages are sources in a GOPATH.
    GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$target/go-cache go build -o "$target/$program.new" "${sources[@]}"
    mv "$target/$program.new" "$target/$program"
}

build_go() {
    need_apt golang-go golang-github-gorilla-websocket-dev golang-nhooyr-websocket-dev
    local library
    for library in gorilla nhooyr; do
        compile_go "$library-server" "${library}_server.go"
        compile_go "$library-client" "${library}_client.go" measure.go
    done
}

build_node() {
    need_apt nodejs node-ws
    node -e "require('ws')"
}

build_python() {
    cmp -s "$here/python/requirements.txt" "$target/python/requirements.installed" && return
    python3 -c 'import venv, ensurepip' 2> /dev/null || need_apt python3 python3-venv
    say "bench: installing $(pinned "$here/python/requirements.txt")"
    python3 -m venv --clear "$target/python"
    pip_install "$target/python/bin/python" "$here/python/requirements.txt"
    cp "$here/python/requirements.txt" "$target/python/requirements.installed"
}

# swift build knows what is out of date.
build_swift() {
    need_build
    local build=(swift build -c release --package-path "$ROOT/Benchmarks" --scratch-path "$target/swift")
    # After files were added or removed in Holdfast, swift build may fail with its old plan, and succeeds only the next time.
    "${build[@]}" >&2 || "${build[@]}" >&2
}

[ $# -gt 0 ] || set -- beast websocketpp libwebsockets go node python swift
mkdir -p "$target"
missing=()
for peer in "$@"; do
    declare -F "build_$peer" > /dev/null || die "unknown peer '$peer'"
    # In a subshell, because `set -e` has no effect inside a condition. A failure must stop only this peer.
    set +e
    (set -e; "build_$peer")
    status=$?
    set -e
    [ $status -eq 0 ] || missing+=("$peer")
done
printf '%s\n' "${missing[@]}" | sed '/^$/d' > "$target/missing"
[ ${#missing[@]} -eq 0 ] || { say "bench: not available: ${missing[*]}"; exit 1; }
