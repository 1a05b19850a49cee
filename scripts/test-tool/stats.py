"""Watches `holdfast connect --stats` through a pseudo-terminal. Arguments: the tool, an echo server's URL, and whether at a prompt."""
import sys
from pseudo_terminal import watch

tool, url, isPrompt = sys.argv[1], sys.argv[2], sys.argv[3] == "prompt"
typed, ended = not isPrompt, False


def respond(output):
    global typed, ended
    if not typed and b"> " in output:
        typed = True
        return b"hello\r"
    if not ended and b"rtt p50 " in output and output.count(b"hello") >= 2:
        ended = True
        return b"\x04" if isPrompt else b"\x03"


output, status = watch([tool, "connect", url, "--stats", *([] if isPrompt else ["-x", "hello", "--wait", "forever"])], 40, respond)
print(output, status)
assert ended and status == (0 if isPrompt else 130)
assert b" messages/s " in output, "there is no live line"
summary = output[output.rindex(b"rtt p50 "):]
assert b"\r\x1b[K" in summary, "the live line is not erased"
for line in [b"* time  ", b"* sent        1 message, 5 B", b"* received    1 message, 5 B", b"* round trip  "]:
    assert line in summary, line
