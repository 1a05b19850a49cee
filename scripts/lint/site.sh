#!/usr/bin/env bash
# Merges the archives that docs.sh has built into one static site, reports/site, with a page that lists all products; checks its links.
set -euo pipefail
cd "$(dirname "$0")/../.."
site=reports/site
rm -rf "$site"
docc merge reports/docs/*.doccarchive --synthesized-landing-page-name Holdfast --output-path "$site"
# DocC has nothing to show at the root.
echo '<!doctype html><meta http-equiv="refresh" content="0; url=documentation/"><title>Holdfast</title>' > "$site/index.html"
scripts/lint/site.py "$site"
