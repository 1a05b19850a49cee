#!/usr/bin/env bash
# Counts files and lines of the shared protocol code, of each protocol's shell, of the server runners, and of all sources without generated
# code, and the lines of code of the sample "Your own protocol" without blank lines and comments.
#
#   scripts/shells.sh [REVISION]     (no argument: the working tree)
set -euo pipefail
cd "$(dirname "$0")/.."
revision=${1:-}

# list PATH…: the Swift files there, at the revision.
list() {
    if [ -n "$revision" ]; then git ls-tree -r --name-only "$revision" -- "$@"; else git ls-files -co --exclude-standard -- "$@"; fi |
        grep '\.swift$' | grep -v '\.pb\.swift$' || true
}
show() { if [ -n "$revision" ]; then git show "$revision:$1"; elif [ -f "$1" ]; then cat "$1"; fi; }
count() {
    local name=$1 files lines
    shift
    files=$(list "$@")
    lines=$(for file in $files; do show "$file"; done | wc -l)
    printf '%-10s %4d files %7d lines\n' "$name" "$(wc -w <<< "$files")" "$lines"
}

count kernel Sources/Core/ProtocolCore Sources/Client/ProtocolClient Sources/Client/HoldfastProtocols Sources/Runtime/WebSocketRuntime/Driver.swift
count quotes Sources/Client/HoldfastQuotes/QuoteDesk.swift Sources/Client/HoldfastQuotes/QuoteShell.swift
count WAMP Sources/Client/HoldfastWAMP/Desk Sources/Client/HoldfastWAMP/Shell
count rooms Sources/Client/HoldfastRooms/Desk Sources/Client/HoldfastRooms/Shell
count host Sources/Server/HoldfastServer/Host
count hub Sources/Server/HoldfastHub/Running
count router Sources/Server/HoldfastRouter/Running
count sources Sources
printf '%-10s %21d lines\n' sample "$(for file in $(list Examples/Board); do show "$file"; done | grep -cvE '^ *(//|$)' || true)"
