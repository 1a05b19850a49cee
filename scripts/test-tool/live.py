"""Watches `holdfast bench` through a pseudo-terminal and types Control-C. Arguments: the tool, a server's URL."""
import os, pty, select, sys, time

tool, url = sys.argv[1:3]
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm", NO_COLOR="1")
    os.execv(tool, [tool, "bench", url, "--warm-up", "0", "--duration", "60"])

output, typed, end = b"", False, time.monotonic() + 20
while time.monotonic() < end:
    if not select.select([terminal], [], [], 0.5)[0]:
        continue
    try:
        chunk = os.read(terminal, 65536)
    except OSError:  # The other end is closed.
        break
    output += chunk
    if not typed and b" messages/s  p50 " in output:
        os.write(terminal, b"\x03")
        typed = True
else:
    os.kill(pid, 9)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(output, status)
assert typed and status == 130
assert b"\r\x1b[Kws://" in output, "the live line is not erased"
assert b", then stopped" in output and b"errors      0" in output
