"""Runs `holdfast chat` in pseudo-terminals, with a hub that is killed. Argument: the tool. Prints one line per check."""
import fcntl, os, pty, re, select, signal, socket, struct, subprocess, sys, tempfile, termios, time, unicodedata

tool = sys.argv[1]
PATIENCE = 60  # Only limits failures.
ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h"
LEAVE = b"\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l"
UP, PAGE_UP, PAGE_DOWN = b"\x1b[A", b"\x1b[5~", b"\x1b[6~"
open_chats = []


class Chat:
    def __init__(self, *options, columns=80, rows=24):
        self.master, slave = pty.openpty()
        self.slave, self.output, self.pid = slave, b"", None
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        pid = os.fork()
        if pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(slave, fd)
            os.environ.update(TERM="xterm", NO_COLOR="1", SWIFT_BACKTRACE="enable=no")
            os.execv(tool, [tool, "chat", hub.url, *options])
        self.pid = pid
        open_chats.append(self)

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if self.pid:
            os.kill(self.pid, signal.SIGWINCH)

    def type(self, keys):
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.output += os.read(self.master, 1 << 16)
            except OSError:
                pass

    @property
    def frame(self):
        """The lines of the last complete screen, and the cursor's column from 1."""
        frames = re.findall(rb"\x1b\[\?2026h(.*?)\x1b\[\?2026l", self.output, re.S)
        if not frames:
            return [], 0
        cursor = re.search(rb"\x1b\[\d+;(\d+)H\x1b\[\?25h$", frames[-1])
        text = re.sub(rb"\x1b\[[?\d;]*[A-Za-z]", b"", frames[-1]).decode()
        return [line.rstrip("\r") for line in text.split("\n")], int(cursor[1]) if cursor else 0

    def sees(self, pattern):
        """Waits until a screen matches the pattern."""
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, "\n".join(self.frame[0]), re.S | re.M):
            for chat in open_chats:
                chat.read(0.02)
            if time.monotonic() > end:
                return False
        return True

    def status(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                open_chats.remove(self)
                self.read(0)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        open_chats.remove(self)
        return None

    @property
    def is_restored(self):
        return termios.tcgetattr(self.slave) == self.before and self.output.count(ENTER) == self.output.count(LEAVE) == 1


class Hub:
    def __init__(self, directory):
        self.directory, self.port = directory, 0
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [tool, "serve", "hub", "--dev", "--quiet", "--data", self.directory, "--port", str(self.port)], stdout=subprocess.PIPE)
        self.url = self.process.stdout.readline().decode().strip()
        self.port = int(re.search(r":(\d+)", self.url)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()


def columns(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def send(*texts):
    subprocess.run([tool, "rooms", "send", hub.url, "--room", "den", "--name", "zoe", *texts], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, check=True, timeout=PATIENCE)


def check(name, passed, *chats):
    print(("ok " if passed else "FAILED ") + name, flush=True)
    if not passed or os.environ.get("SHOW"):
        for chat in chats:
            print("\n".join("    " + repr(line) for line in chat.frame[0]), chat.frame[1], flush=True)
    if not passed:
        raise SystemExit(1)


with tempfile.TemporaryDirectory() as directory:
    hub = Hub(directory + "/hub")
    try:
        subprocess.run([tool, "rooms", "send", hub.url, "--room", "den", "--name", "zoe"], check=True, timeout=PATIENCE,
                       stdout=subprocess.DEVNULL, input="\n".join(f"number {n}." for n in range(1, 101)).encode())
        store = ["--room", "den", "--name", "ann", "--store", directory + "/ann"]
        subprocess.run([tool, "rooms", "tail", hub.url, *store, "--from", "-20", "--count", "20"], check=True, timeout=PATIENCE,
                       stdout=subprocess.DEVNULL)
        ann = Chat(*store)
        check("chat shows its connection and the last messages", ann.sees(r"den  ann.*connected.*zoe: number 100\."), ann)
        check("chat shows the round trip to the hub", ann.sees(r"connected  rtt"), ann)
        bob = Chat("--room", "den", "--name", "bob")
        check("chat shows the members", ann.sees(r"den  ann, bob ") and bob.sees(r"den  ann, bob "), ann)
        bob.type("hel")
        check("chat shows that another member types", ann.sees(r"bob is typing…"), ann)
        bob.type("lo\r")
        check("a message arrives, and its author sees that it was read", ann.sees(r"bob: hello") and bob.sees(r"you: hello ✓✓"), bob)

        ann.type("\x1b[200~one\nand two\x1b[201~")
        check("a paste of two lines waits for Enter", ann.sees(r"^> one␊and two"), ann)
        ann.type("\r")
        check("the paste is one message", bob.sees(r"ann: one\n +and two$"), bob)
        ann.type("日本語 👋")
        check("wide characters move the cursor by two", ann.sees(r"^> 日本語 👋") and ann.frame[1] == 3 + 6 + 1 + 2, ann)
        ann.type("\r")
        long = "word " * 40 + "end"
        ann.type(long)
        check("a long line shows its end", ann.sees(r"^> .*word end") and columns(ann.frame[0][-1]) < 80, ann)
        ann.type("\r")
        check("long messages are wrapped", bob.sees(r"ann: 日本語 👋.*\n.*ann: word.*\n +word.*end"), bob)
        send("\x1b[2J\u009b31mred\r\nann: fake", "after")
        check("messages of others cannot control the terminal", ann.sees(r"zoe: after") and b"\x1b[2J" not in ann.output, ann)
        check("messages cannot imitate another member's line", not re.search(r"^\d\d:\d\d ann: fake", "\n".join(ann.frame[0]), re.M), ann)

        ann.type(UP)
        check("scrolling back shows the distance", ann.sees(r"rows below"), ann)
        end = time.monotonic() + PATIENCE
        while not re.search(r"zoe: number 1\.", "\n".join(ann.frame[0])) and time.monotonic() < end:
            ann.type(PAGE_UP)
            ann.read(0.1)
        check("scrolling back loads older messages", ann.sees(r"zoe: number 1\."), ann)
        send("while reading")
        check("new messages do not move the view", bob.sees(r"zoe: while reading") and ann.sees(r"zoe: number 1\."), ann)
        for _ in range(40):
            ann.type(PAGE_DOWN)
        check("new messages are below", ann.sees(r"zoe: while reading"), ann)

        hub.kill()
        check("a lost hub is shown", ann.sees(r"offline, messages wait|connecting"), ann)
        ann.type("nobody there?\r")
        check("messages wait while the hub is gone", ann.sees(r"you: nobody there\? …"), ann)
        ann.type("half a li")
        hub.start()
        check("waiting messages are sent when the hub is back", ann.sees(r"connected.*you: nobody there\? ✓") and bob.sees(r"ann: nobody there\?"), ann)
        check("the unfinished line is kept", ann.sees(r"^> half a li"), ann)

        ann.resize(40, 10)
        check("a smaller window is filled exactly", ann.sees(r"\A([^\n]*\n){9}> half a li") and max(map(columns, ann.frame[0])) <= 40, ann)
        ann.resize(100, 30)
        check("a larger window is filled", ann.sees(r"\A([^\n]*\n){29}> half a li"), ann)
        ann.type("\x03")
        check("Control-C empties the line", ann.sees(r"^> $"), ann)
        ann.type("bye\r\x03")
        check("Control-C ends the chat after sending its messages", ann.status() == 0 and ann.is_restored, ann)
        check("a member that left is removed", bob.sees(r"den  bob "), bob)
        os.kill(bob.pid, signal.SIGTERM)
        check("a signal restores the terminal", bob.status() == 143 and bob.is_restored, bob)
        eve = Chat("--room", "den", "--token", "nonsense")
        is_refused = eve.status() == 3 and eve.is_restored
        check("the reason for no chat is readable after the end", is_refused and b"2001" in eve.output.split(LEAVE)[1], eve)
    finally:
        for chat in open_chats:
            os.kill(chat.pid, signal.SIGKILL)
        hub.kill()
