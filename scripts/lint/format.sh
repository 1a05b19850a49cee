#!/usr/bin/env bash
# Runs swift-format in strict mode on everything, after a check that it still finds a declaration without documentation.
#
#   scripts/lint/format.sh [--fix]
set -euo pipefail
cd "$(dirname "$0")/../.."
places=()
for place in Package.swift Sources Tests Interop Benchmarks Fuzz Snippets Examples; do
    [ ! -e "$place" ] || places+=("$place")
done
if [ "${1:-}" = --fix ]; then
    exec swift format format --in-place --recursive --parallel --configuration .swift-format "${places[@]}"
fi
canary=$(echo 'public struct Canary {}' | swift format lint --strict --configuration .swift-format - 2>&1 || true)
if [[ $canary != *AllPublicDeclarationsHaveDocumentation* ]]; then
    echo "swift-format did not see a public declaration without documentation"
    exit 1
fi
swift format lint --strict --recursive --parallel --configuration .swift-format "${places[@]}"
