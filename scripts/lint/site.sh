#!/usr/bin/env bash
# Merges the archives of docs.sh into one static site, reports/site, with a page that lists all products. Checks its links.
set -euo pipefail
cd "$(dirname "$0")/../.."
site=reports/site
rm -rf "$site"
docc merge reports/docs/*.doccarchive --synthesized-landing-page-name Holdfast --output-path "$site"
# DocC has no page for the root.
echo '<!doctype html><meta http-equiv="refresh" content="0; url=documentation/"><title>Holdfast</title>' > "$site/index.html"
scripts/lint/site.py "$site"
