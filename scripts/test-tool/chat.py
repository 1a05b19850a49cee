"""Talks with `holdfast chat` through a pseudo-terminal. Arguments: the tool, a hub's URL."""
import re, sys
from pseudo_terminal import watch

tool, url = sys.argv[1:3]
ENTER, LEAVE = b"\x1b[?1049h\x1b[?25l\x1b[?7l", b"\x1b[?7h\x1b[?25h\x1b[?1049l"
TICK = "✓".encode()
# What a step shows, and what is typed then; the last one ends it.
steps = [
    (rb"connected", b"hello \xe2\x98\x83"),
    (rb"> hello \xe2\x98\x83", b"\r"),
    (rb"you: .*hello \xe2\x98\x83.*" + TICK, b"\x03"),
]
step = 0


def respond(output):
    global step
    frame = output[output.rfind(b"\x1b[?2026h"):]
    if step < len(steps) and re.search(steps[step][0], frame, re.S):
        step += 1
        return steps[step - 1][1]


output, status = watch([tool, "chat", url, "--room", "screen", "--name", "eve"], 40, respond)
print(output[-3000:], status)
assert step == len(steps), f"got to step {step}"
assert status == 0
assert output.count(ENTER) == 1 and output.count(LEAVE) == 1, "the terminal is not as before"
frames = output.split(b"\x1b[?2026h")[1:]
assert all(frame.count(b"\r\n") <= 24 + 1 for frame in frames), "a picture is higher than the terminal"
