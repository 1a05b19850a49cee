#!/bin/bash
# Judges Holdfast with the Autobahn test suite, in both roles.
#
#   Conformance/run.sh [quick|share|all] [client|server|both] [--record]
#
# quick: every case but 9.*, 12.* and 13.* (247). share: those and a rotating part of the others (SHARE=k/n chooses it), and
# some of them over TLS, and some over HTTP/2. all (default): 517 cases, in the clear and over TLS, and 301 over HTTP/2.
# Results are compared with expected.json, case by case; --record writes that file anew.
# HOLDFAST_BIN names a program with our peer's commands; without it the release build is made first. JOBS=n: runs at a time.
set -euo pipefail
# shellcheck source=../scripts/setup.sh
source "$(dirname "$0")/../scripts/setup.sh"
need_wstest
need_apt openssl haproxy
export PATH=$PATH:/usr/sbin # where Debian keeps HAProxy
HOLDFAST_BIN=$(swift_program HOLDFAST_BIN HoldfastPeer)
export HOLDFAST_BIN
exec python3 "$ROOT/Conformance/run.py" "$@"
