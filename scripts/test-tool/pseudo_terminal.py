"""Runs a program in a pseudo-terminal, for the checks beside this file."""
import os, pty, select, time


def watch(command, seconds, respond):
    """Returns the output of the program and its exit status. The program is killed after `seconds`.

    respond(output) is called after new output, and returns the bytes to type, if any.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", NO_COLOR="1")
        os.execv(command[0], command)
    output, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.5)[0]:
            continue
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # The other end is closed.
            break
        output += chunk
        if keys := respond(output):
            os.write(terminal, keys)
    else:
        os.kill(pid, 9)
    return output, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
