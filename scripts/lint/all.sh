#!/usr/bin/env bash
# Every check of `make lint`, one line each. Continues after a failure. Needs an up-to-date debug build.
set -u
cd "$(dirname "$0")/../.." || exit 1
status=0
check() { scripts/tally check "$@" || status=1; }

check format scripts/lint/format.sh
check purity scripts/lint/purity.py
check purity-gate scripts/lint/purity.py --self-test
check dependencies bash -o pipefail -c 'swift package dump-package | scripts/lint/dependencies.py'
check pins scripts/pins.py check
check pins-gate scripts/pins.py --self-test
# It reads the libraries that Linux links.
if [ "$(uname -s)" = Linux ]; then
    check sbom scripts/sbom.py --check
    check sbom-gate scripts/sbom.py --self-test
fi
check markdown scripts/lint/markdown.py
check snippets scripts/lint/snippets.sh
check docs scripts/lint/docs.sh
# The lists are for the Linux build.
[ "$(uname -s)" != Linux ] || check api scripts/lint/api.py
check api-gate scripts/lint/api.py --self-test
check mutants-lists scripts/mutants/check.py
check suites scripts/suites.py --self-test
check site scripts/lint/site.sh
check site-gate scripts/lint/site.py --self-test
check apple scripts/apple-check/check.sh
check apple-canary scripts/apple-check/check.sh --canary
exit $status
