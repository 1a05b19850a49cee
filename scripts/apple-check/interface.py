#!/usr/bin/env python3
"""Converts a Linux .swiftinterface of the standard library, from standard input, to that of an Apple target."""
import re
import sys

text = sys.stdin.read()
text = re.sub(r"-target \S+", "-target " + sys.argv[1], text, count=1)
text = re.sub(r"^import Glibc\n", "", text, flags=re.M)
# Only the Apple interface has the bodies of back-deployed functions.
text = re.sub(r"@backDeployed\([^)]*\)\s*", "", text)
# The typed failure of asynchronous sequences is newer than the sequences.
text = re.sub(
    r"@available\([^\n]*\)\n(\s*@_implements\(_Concurrency\.Async\w+, Failure\))",
    r"@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, *)\n\1",
    text,
)
sys.stdout.write(text)
