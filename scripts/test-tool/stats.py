"""Watches `holdfast connect --stats` through a pseudo-terminal. Arguments: the tool, an echo server's URL, and whether at a prompt."""
import os, pty, select, sys, time

tool, url, isPrompt = sys.argv[1], sys.argv[2], sys.argv[3] == "prompt"
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm", NO_COLOR="1")
    os.execv(tool, [tool, "connect", url, "--stats", *([] if isPrompt else ["-x", "hello", "--wait", "forever"])])

output, end, typed, ended = b"", time.monotonic() + 40, not isPrompt, False
while time.monotonic() < end:
    if not select.select([terminal], [], [], 0.5)[0]:
        continue
    try:
        chunk = os.read(terminal, 65536)
    except OSError:  # The other end is closed.
        break
    output += chunk
    if not typed and b"> " in output:
        os.write(terminal, b"hello\r")
        typed = True
    if not ended and b"rtt p50 " in output and output.count(b"hello") >= 2:
        os.write(terminal, b"\x04" if isPrompt else b"\x03")
        ended = True
else:
    os.kill(pid, 9)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(output, status)
assert ended and status == (0 if isPrompt else 130)
assert b" messages/s " in output, "there is no live line"
summary = output[output.rindex(b"rtt p50 "):]
assert b"\r\x1b[K" in summary, "the live line is not erased"
for line in [b"* time  ", b"* sent        1 message, 5 B", b"* received    1 message, 5 B", b"* round trip  "]:
    assert line in summary, line
