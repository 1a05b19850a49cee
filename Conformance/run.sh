#!/bin/bash
# Tests Holdfast with the Autobahn test suite, in both roles.
#
#   Conformance/run.sh [quick|share|all] [client|server|both] [--record]
#
# quick: every case except 9.*, 12.* and 13.* (247). share: those and a rotating part of the others (SHARE=k/n selects it), and
# some of them over TLS and over HTTP/2. all (default): 517 cases, without and with TLS, and 301 over HTTP/2.
# Results are compared with expected.json case by case. --record writes that file.
# HOLDFAST_BIN names a program with our peer's commands. Without it the release build is made first. JOBS=n sets the concurrent runs.
set -euo pipefail
# shellcheck source=../scripts/setup.sh
source "$(dirname "$0")/../scripts/setup.sh"
need_wstest
need_apt openssl haproxy
export PATH=$PATH:/usr/sbin # Debian installs HAProxy here
HOLDFAST_BIN=$(swift_program HOLDFAST_BIN HoldfastPeer)
export HOLDFAST_BIN
exec python3 "$ROOT/Conformance/run.py" "$@"
