#!/bin/bash
# Runs the tests under Thread Sanitizer and Address Sanitizer, each with its own build.
#
#   Fuzz/sanitize.sh [thread|address…] [-- options of swift test…]
#
# Fuzz/sanitize.sh address -- --filter DeflaterTests
set -uo pipefail
cd "$(dirname "$0")/.."

sanitizers=()
while (($# > 0)) && [[ $1 != -- ]]; do
    sanitizers+=("$1")
    shift
done
(($# > 0)) && shift
((${#sanitizers[@]} > 0)) || sanitizers=(thread address)

# A report fails the run even if the test that caused it has passed.
export TSAN_OPTIONS=halt_on_error=0:exitcode=66:${TSAN_OPTIONS:-}
export ASAN_OPTIONS=detect_leaks=1:${ASAN_OPTIONS:-}
# Memory is not measured, because a sanitizer uses more than the program.
export HOLDFAST_SANITIZED=1
# Foundation's Process, with which tests start openssl, leaks a few bytes.
export LSAN_OPTIONS=suppressions=$PWD/Fuzz/leaks.supp:print_suppressions=0:${LSAN_OPTIONS:-}
# Swift's own backtraces read all memory, which Address Sanitizer reports as an error.
export SWIFT_BACKTRACE=enable=no

passed=0 failed=0
for sanitizer in "${sanitizers[@]}"; do
    scratch=.build/$sanitizer-sanitizer
    log=$scratch.log
    mkdir -p .build
    echo "== $sanitizer sanitizer, log in $log"
    swift test --disable-xctest --no-parallel --sanitize "$sanitizer" --scratch-path "$scratch" "$@" > "$log" 2>&1
    status=$?
    reports=$(grep -cE '(WARNING|ERROR): (Thread|Address|Leak)Sanitizer' "$log")
    grep -E '^. Test run with' "$log" | tail -n 1
    if ((status == 0 && reports == 0)) && grep -q 'Test run with .* passed' "$log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: exit status $status, $reports reports"
        grep -E -A 12 '(WARNING|ERROR): (Thread|Address|Leak)Sanitizer|^✘|error:' "$log" | head -n 60
    fi
done
echo "$passed passed, $failed failed"
((failed == 0))
