"""Watches `holdfast bench` through a pseudo-terminal and types Control-C. Arguments: the tool, a server's URL."""
import sys
from pseudo_terminal import watch

tool, url = sys.argv[1:3]
typed = False


def respond(output):
    global typed
    if not typed and b" messages/s  p50 " in output:
        typed = True
        return b"\x03"


output, status = watch([tool, "bench", url, "--warm-up", "0", "--duration", "60"], 20, respond)
print(output, status)
assert typed and status == 130
assert b"\r\x1b[Kws://" in output, "the live line is not erased"
assert b", then stopped" in output and b"errors      0" in output
