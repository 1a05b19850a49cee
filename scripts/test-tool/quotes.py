"""Watches `holdfast quotes` through a pseudo-terminal and scrolls. Arguments: the tool, a feed's URL, and how to end: q or control-c."""
import re, sys
from pseudo_terminal import watch

tool, url, ending = sys.argv[1:4]
ENTER, LEAVE = b"\x1b[?1049h\x1b[?25l\x1b[?7l", b"\x1b[?7h\x1b[?25h\x1b[?1049l"
keys = iter([b"\x1b[B", {"q": b"q", "control-c": b"\x03"}[ending]])
waits = [rb"  connected\x1b.*[1-9][0-9]* ticks/s  rtt [0-9.]+ m?s  .*1 to 20 of 32 ", rb"2 to 21 of 32 "]
step = 0


def respond(output):
    """Waits for the text of a step, then types the keys."""
    global step
    frame = output[output.rfind(b"\x1b[?2026h"):]
    if step < len(waits) and re.search(waits[step], frame, re.S):
        step += 1
        return next(keys)


output, status = watch([tool, "quotes", url, "SAIL*"], 40, respond)
print(output[-3000:], status)
assert step == 2, f"got to step {step}"
assert status == 0
assert output.count(ENTER) == 1 and output.count(LEAVE) == 1, "the terminal is not as before"
after = output[output.index(LEAVE):]
assert re.search(rb"\* [0-9,]+ ticks of 32 symbols, 1 connection", after), "there is no summary"
frames = output.split(b"\x1b[?2026h")[1:]
assert all(frame.count(b"\r\n") <= 24 + 1 for frame in frames), "a picture is higher than the terminal"
assert any("▲".encode() in frame for frame in frames) and any("▼".encode() in frame for frame in frames), "no price moves"
