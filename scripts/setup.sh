#!/bin/bash
# Sets up a Debian machine for the suites that need more than Swift. Does nothing if everything is present.
#
#   scripts/setup.sh [build] [conformance] [interop] [wamp] [graphql] [socketio] [documents] [codecs] [tls] [proxies] [doctor] [quick] [footprint] [bench]     (no argument: all of them)
#
# Other scripts source this file and call only the functions they need: need_apt, need_python, need_wstest.
# The setup is permanent: packages in the system, the rest in .venv and .cache. After that no network is needed.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export ROOT
export PYTHON=$ROOT/.venv/bin/python
export WSTEST=$ROOT/.cache/wstest/wstest
export NODE_PATH=/usr/share/nodejs # where Debian's node-ws lives

say() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Runs a command as root, directly or through sudo.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo > /dev/null; then sudo "$@"
    else die "not root and no sudo: $*"
    fi
}

# Two suites may set up at once: `with_lock NAME COMMAND…` lets one wait, and then find everything done.
with_lock() {
    local name=$1
    shift
    mkdir -p "$ROOT/.cache"
    if ! command -v flock > /dev/null; then "$@"; return; fi
    (flock 9; "$@") 9> "$ROOT/.cache/$name.lock"
}

# Repeats a command until it succeeds, at most four times, because a mirror or an index may fail for a moment.
patiently() {
    local wait
    for wait in 5 20 60; do
        if "$@"; then return; fi
        say "failed, once more in $wait s: $1 ${2:-}"
        sleep "$wait"
    done
    "$@"
}

missing_apt() {
    local package
    for package in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || printf '%s\n' "$package"
    done
}

# need_apt PACKAGE…: installs the Debian packages that are missing.
need_apt() {
    command -v dpkg-query > /dev/null || die "not a Debian machine: install by hand what these packages hold: $*"
    [ -z "$(missing_apt "$@")" ] || with_lock apt install_apt "$@"
}

install_apt() {
    local missing
    mapfile -t missing < <(missing_apt "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    say "apt: installing ${missing[*]}"
    patiently as_root apt-get update -qq
    # RUNLEVEL=1 keeps nginx's package from starting a server in a container.
    patiently as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -qq -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "${missing[@]}" > /dev/null
}

# pip_install PYTHON FILE…: installs the packages of a pinned list. pip refuses a file with another hash than the list.
pip_install() {
    local python=$1
    shift
    "$python" -m pip install -q --disable-pip-version-check --require-hashes "${@:2}" -r "$1"
}

# pinned FILE: the packages of such a list with their versions, on one line.
pinned() { sed -nE 's/^([A-Za-z0-9][^ ;]*==[^ ;]+).*/\1/p' "$1" | tr '\n' ' '; }

# need_venv FOLDER LIST [OPTION…]: a virtual environment in FOLDER with the packages of a pinned LIST, installed at the first use.
need_venv() { has_venv "$1" "$2" || with_lock "$(basename "$1")" install_venv "$@"; }

has_venv() { cmp -s "$ROOT/$2" "$ROOT/$1/requirements.installed" && "$ROOT/$1/bin/python" -c '' 2> /dev/null; }

install_venv() {
    if has_venv "$1" "$2"; then return; fi
    python3 -c 'import venv, ensurepip' 2> /dev/null || need_apt python3 python3-venv
    say "python: a virtual environment in $1 with $(pinned "$ROOT/$2")"
    python3 -m venv --clear "$ROOT/$1"
    patiently pip_install "$ROOT/$1/bin/python" "$ROOT/$2" "${@:3}"
    cp "$ROOT/$2" "$ROOT/$1/requirements.installed"
}

need_python() { need_venv .venv scripts/requirements.txt; }

# need_charts: installs the chart library into .venv. `make test` does not need it. Without network there is no chart.
need_charts() {
    has_charts || with_lock .venv install_charts || say "python: the benchmark will draw no chart"
}

has_charts() { cmp -s "$ROOT/Benchmarks/harness/requirements.txt" "$ROOT/.venv/charts.installed"; }

install_charts() {
    if has_charts; then return; fi
    say "python: $(pinned "$ROOT/Benchmarks/harness/requirements.txt")in .venv"
    pip_install "$PYTHON" "$ROOT/Benchmarks/harness/requirements.txt" || return
    cp "$ROOT/Benchmarks/harness/requirements.txt" "$ROOT/.venv/charts.installed"
}

# need_wstest: the Autobahn test suite in .cache/wstest, installed at the first use (about a minute, 100 MB).
need_wstest() {
    [ -e "$ROOT/.cache/wstest/complete" ] || with_lock wstest install_wstest
}

install_wstest() {
    if [ -e "$ROOT/.cache/wstest/complete" ]; then return; fi
    need_apt debian-archive-keyring gcc libc6-dev
    need_python
    say "wstest: the Autobahn test suite in .cache/wstest"
    patiently install_wstest_anew || { cat "$ROOT/.cache/wstest.log" >&2; die "wstest could not be installed"; }
    touch "$ROOT/.cache/wstest/complete"
}

install_wstest_anew() {
    rm -rf "$ROOT/.cache/wstest"
    PYTHON3=$PYTHON "$ROOT/Conformance/install_wstest.sh" "$ROOT/.cache/wstest" > "$ROOT/.cache/wstest.log" 2>&1
}

# Crossbar, autobahn-python and xconn (about 3 minutes, 390 MB).
export CROSSBAR_VENV=$ROOT/.cache/crossbar
need_crossbar() { need_venv .cache/crossbar Interop/wamp/requirements.txt --no-deps; }

# Strawberry, Ariadne and gql.
export GRAPHQL_PYTHON=$ROOT/.cache/graphql/bin/python
need_graphql() { need_build; need_venv .cache/graphql Interop/graphql/requirements.txt; }

# python-socketio 4, which speaks the older protocol.
export OLD_SOCKETIO_PYTHON=$ROOT/.cache/socketio/bin/python
need_old_socketio() { need_venv .cache/socketio Interop/socketio/requirements.txt; }

need_socketio() { need_build; need_python; need_old_socketio; }
# Yjs, and its bindings for Python of yrs, which only the benchmark needs.
export YRS_PYTHON=$ROOT/.cache/yrs/bin/python
need_yrs() { need_venv .cache/yrs Benchmarks/documents/requirements.txt; }

need_documents() { need_build; need_apt nodejs node-yjs node-y-websocket node-ws python3; }
need_build() { need_apt zlib1g-dev libsqlite3-dev; }
need_conformance() { need_build; need_apt openssl haproxy; need_wstest; }
need_interop() { need_build; need_apt nodejs node-ws websocketd nginx chromium openssl; need_python; }
need_wamp() { need_build; need_apt python3 libargon2-1; need_crossbar; }
need_codecs() { need_build; need_apt protobuf-compiler; need_python; }
need_tls() { need_build; need_apt nginx openssl websocketd; need_python; }
need_proxies() { need_build; need_apt tinyproxy-bin squid microsocks dante-server nginx openssl python3; }
need_doctor() { need_build; need_apt nodejs node-ws websocketd nginx openssl tinyproxy-bin python3; need_python; }
need_quick() { need_build; need_apt valgrind binutils python3; }
need_footprint() { need_build; need_apt gcc libc6-dev binutils libssl-dev libcap-dev libwebsockets-dev; need_python; }
need_bench() { need_build; need_apt gcc libc6-dev libssl-dev openssl util-linux; need_python; need_charts; }

# swift_program VARIABLE PRODUCT [FOLDER]: prints the path of a program: the variable's value, or a release build made now, in a separate
# folder if it must not block other builds.
swift_program() {
    local given=${!1:-} product=$2 folder=${3:-.build}
    if [ -n "$given" ]; then
        [ -x "$given" ] || die "$1 names no program: $given"
        realpath "$given"
        return
    fi
    need_build
    # A fresh clone must use the pinned versions, not the newest that the manifest allows.
    # Bash continues after a failure inside of $(…), and the program of an earlier build would be tested.
    [ -e "$ROOT/Package.resolved" ] || { need_apt git python3 && "$ROOT/scripts/pins.py" resolve; } >&2 || die "no versions are pinned"
    (cd "$ROOT" && swift build -c release --scratch-path "$folder" --product "$product") >&2 || die "$product does not build"
    printf '%s/%s\n' "$(cd "$ROOT" && swift build -c release --scratch-path "$folder" --show-bin-path)" "$product"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    [ $# -gt 0 ] || set -- build conformance interop wamp graphql socketio documents codecs tls proxies doctor quick footprint bench
    for suite in "$@"; do
        case $suite in
            build | conformance | interop | wamp | graphql | socketio | documents | codecs | tls | proxies | doctor | quick | footprint | bench) "need_$suite" ;;
            *) die "unknown suite '$suite' (there are: build, conformance, interop, wamp, graphql, socketio, documents, codecs, tls, proxies, doctor, quick, footprint, bench)" ;;
        esac
    done
fi
