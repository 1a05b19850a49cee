#!/usr/bin/env bash
# Builds the documentation of every product with warnings as errors, and requires a comment on every public symbol.
# HOSTING_BASE=/path: the path on the host for the site of site.sh.
# swift-format requires comments too, but overlooks enum cases and protocol requirements. Needs an up-to-date debug build.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=reports/docs
build=$(swift build --show-bin-path)
triple=$(swiftc -print-target-info | sed -nE 's/.*"triple": "([^"]*)".*/\1/p' | head -n 1)
maps=()
for map in "$build"/*.build/module.modulemap .build/checkouts/*/Sources/*/include/module.modulemap; do
    maps+=(-Xcc "-fmodule-map-file=$map")
done

rm -rf "$out"
for catalogue in Sources/*/*/*.docc; do
    module=$(basename "$catalogue" .docc)
    mkdir -p "$out/symbols/$module"
    options=()
    # Re-exported symbols are documented with a product, because apps see them as its own. Holdfast's symbols are there.
    exports=$(dirname "$catalogue")/Exports.swift
    if [ -e "$exports" ] && [[ $module == Holdfast || $module == HoldfastProtocols || $module == HoldfastQuotes || $module == HoldfastRooms
        || $module == HoldfastWAMP || $module == HoldfastRouter || $module == HoldfastGraphQL || $module == HoldfastSocketIO ]]; then
        reexported=$(sed -nE 's/^ *@_exported public import ((struct|enum) )?([A-Za-z]+).*/\3/p' "$exports" | grep -vxE 'Holdfast|HoldfastServer|HoldfastCodecs' | paste -sd, -)
        options=(-experimental-allowed-reexported-modules="$reexported")
    fi
    swift-symbolgraph-extract -module-name "$module" -output-dir "$out/symbols/$module" -target "$triple" \
        -I "$build/Modules" -I Sources/Runtime/CZlib -I Sources/Runtime/CRoomsSQLite "${maps[@]}" -module-cache-path "$build/ModuleCache" \
        -minimum-access-level public -skip-synthesized-members -emit-extension-block-symbols "${options[@]}"
    docc convert "$catalogue" --additional-symbol-graph-dir "$out/symbols/$module" --output-dir "$out/$module.doccarchive" \
        --fallback-display-name "$module" --fallback-bundle-identifier "holdfast.$module" \
        --hosting-base-path "${HOSTING_BASE:-/}" --warnings-as-errors
done
python3 scripts/lint/documented.py "$out"/symbols/*/*.symbols.json
