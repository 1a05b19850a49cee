"""Controls the prompt through a pseudo-terminal. Arguments: the tool, a server's port. Prints one line per check."""
import os, pty, select, signal, struct, sys, termios, fcntl, time

tool, port = sys.argv[1:3]

class Session:
    def __init__(self, path):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        self.slave, self.before, self.output = slave, termios.tcgetattr(slave), b""
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(slave, fd)
            # Swift's own handler would ask questions at the terminal.
            os.environ.update(TERM="xterm", NO_COLOR="1", SWIFT_BACKTRACE="enable=no")
            os.execv(tool, [tool, "connect", f"ws://127.0.0.1:{port}{path}"])

    def until(self, text, after=0):
        """Reads until the text arrives, for at most 10 seconds. Returns its end, or -1."""
        end = time.monotonic() + 10
        while (found := self.output.find(text, after)) < 0:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            if not ready:
                return -1
            try:
                chunk = os.read(self.master, 65536)
            except OSError:
                return -1
            if not chunk:
                return -1
            self.output += chunk
        return found + len(text)

    def type(self, text):
        os.write(self.master, text)

    def status(self):
        end = time.monotonic() + 10
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.master], [], [], 0.05)[0]:
                self.output += os.read(self.master, 65536)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return None

    def is_restored(self):
        return termios.tcgetattr(self.slave) == self.before

def check(name, passed, session=None):
    print(("ok " if passed else "FAILED ") + name, flush=True)
    if not passed and session:
        print("    " + repr(session.output[-400:]), flush=True)

s = Session("/late")
check("the prompt appears once connected", s.until(b"\r> ") > 0, s)
s.type(b"first\r")
place = s.until(b"> first\r")
s.type(b"hel")
place = s.until(b"> hel", place)
place = s.until(b"< first", place)
check("an incoming line is printed while a line is being typed", place > 0, s)
check("the line being typed is drawn again below it", s.until(b"> hel", place) > 0, s)
s.type(b"lo\x01X\x05!\x1b[D\x7f\r")
check("editing goes on and the edited line is sent", s.until(b"< Xhell!") > 0, s)
s.type(b"\x1b[A\x1b[A\r")
place = s.until(b"< first", s.output.find(b"< Xhell!"))
check("history brings an earlier line back", place > 0, s)
s.type(b"junk\x03")
s.type(b"\x04")
check("Control-C empties the line and Control-D closes with status 0", s.status() == 0, s)
check("the terminal settings are restored", s.is_restored(), s)

s = Session("/escape")
check("text of the peer cannot control the terminal", s.until(rb"< \u{1B}[2J\u{9B}31m") > 0, s)
check("a line of a message does not look like the prompt", s.until(b"\n  fake> ") > 0, s)
s.type(b"\x03")
check("Control-C on an empty line closes with status 0", s.status() == 0, s)

for number, name, expected in ((signal.SIGTERM, "SIGTERM", 143), (signal.SIGQUIT, "SIGQUIT", -signal.SIGQUIT)):
    s = Session("/")
    s.until(b"\r> ")
    os.kill(s.pid, number)
    check(f"{name} ends the tool with status {expected}", s.status() == expected, s)
    check(f"the terminal settings are restored after {name}", s.is_restored(), s)

s = Session("/close/4001")
check("a close code is named and its reason cannot control the terminal", s.until(b"4001 (application code)") > 0 and s.until(rb"go \u{1B}[2Jaway") > 0, s)
check("an error code of the peer ends the tool with status 6", s.status() == 6, s)
check("the terminal settings are restored after the peer closed", s.is_restored(), s)
