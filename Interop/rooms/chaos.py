#!/usr/bin/env python3
"""Real clients and a real hub with many faults. Afterwards the history checkers judge what they recorded. See ../README.md.

chaos.py --holdfast PROGRAM --peer PROGRAM --reports DIR [--seconds N] [--clients N] [--strangers N] [--kills N] [--seed N] [--disk DIR]
    [--restore client] [--restore hub] [--restore unseen] [--found N] [--calendar LIBRARY]

The hub and the clients are killed with -9 and frozen, and their links are cut. The strangers are client.py, which was written only from
the protocol's page. Two checkers judge: the one of the simulation, and checker.py. DIR of --disk is a small separate file system, which
is filled and made read-only. With --restore a stranger's store or the hub's directory is replaced by a copy of its files. With `unseen`
the hub cannot detect this, as after a snapshot of a volume. Then clients must prove that at least N rooms were rewound.
LIBRARY is built from calendar.c: with it the date of the hub's machine is wrong at times. Prints `ok` and `not ok` lines.
"""
import argparse
import contextlib
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 90  # seconds; limits failures only
ROOMS = ("green", "blue")
# The errors of the hub's date in seconds: more than a publication may be early, and more than the time for which devices
# are remembered.
WRONG = (2 * 3600, 100 * 86400)
# A link with delays, all kinds of cuts, and stalls.
SCRIPT = "delay 1ms..20ms; every 1s..3s cut rst; every 4s..7s cut fin; every 9s..15s stall 2s"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """A program that is started, killed, frozen, and started again."""

    def __init__(self, name, command, log, talks=False, surroundings=None):
        self.name, self.command, self.log, self.talks = name, command, log, talks
        self.surroundings = os.environ | (surroundings or {})
        self.child = None

    def start(self):
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE if self.talks else log, stderr=log, env=self.surroundings)

    def say(self, line):
        self.child.stdin.write(f"{line}\n".encode())
        self.child.stdin.flush()

    def hears(self, word, end):
        """Whether the program prints this line before a moment."""
        while select.select([self.child.stdout], [], [], max(0, end - time.monotonic()))[0]:
            line = self.child.stdout.readline()
            if not line:
                return False
            if line.decode().strip() == word:
                return True
        return False

    def ends(self, end):
        """Whether the program ends cleanly before a moment."""
        try:
            return self.child.wait(max(0, end - time.monotonic())) == 0
        except subprocess.TimeoutExpired:
            return False

    def signal(self, number):
        if self.child and self.child.poll() is None:
            self.child.send_signal(number)

    def kill(self, may_have_ended=False):
        self.watch(may_have_ended)
        self.signal(signal.SIGKILL)
        self.child.wait()

    def watch(self, may_have_ended=False):
        """Fails if the program ended by itself."""
        if self.child.poll() is not None and not may_have_ended:
            raise RuntimeError(f"{self.name} ended by itself, with status {self.child.returncode}; see {self.log}")

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)


class Stage:
    """All processes of a run."""

    def __init__(self, options):
        self.options = options
        self.chance = random.Random(options.seed)
        self.counts = {}
        self.data = os.path.join(options.disk or options.reports, "hub")
        shutil.rmtree(self.data, ignore_errors=True)
        self.port, self.link_port = free_port(), free_port()
        self.hub = Process("hub", [
            options.holdfast, "serve", "hub", "--data", self.data, "--port", str(self.port), "--dev", "--keep-free", "1",
        ], self.file("hub.log"), surroundings=self.calendar())
        self.link = Process("link", [
            options.holdfast, "chaos", "--listen", str(self.link_port), "--to", f"127.0.0.1:{self.port}",
            "--script", SCRIPT, "--seed", str(options.seed),
        ], self.file("link.log"))
        self.strangers = [self.stranger(f"p{number}") for number in range(1, options.strangers + 1)]
        self.clients = [self.client(f"c{number}") for number in range(1, options.clients + 1)] + self.strangers

    def file(self, name):
        return os.path.join(self.options.reports, name)

    def client(self, name):
        return Process(name, [
            self.options.peer, "rooms-client", f"ws://127.0.0.1:{self.link_port}/rooms", "--name", name, "--rooms", ",".join(ROOMS),
            "--store", self.file(f"{name}.store"), "--history", self.file(f"{name}.jsonl"), "--pause", str(self.options.pause),
        ], self.file(f"{name}.log"), talks=True)

    def stranger(self, name):
        return Process(name, [
            sys.executable, os.path.join(HERE, "client.py"), f"ws://127.0.0.1:{self.link_port}/rooms", "--name", name,
            "--rooms", ",".join(ROOMS), "--store", self.file(f"{name}.sqlite"), "--history", self.file(f"{name}.jsonl"),
            "--pause", str(self.options.pause),
        ], self.file(f"{name}.log"), talks=True)

    def all(self):
        return [self.hub, self.link, *self.clients]

    def count(self, what, number=1):
        self.counts[what] = self.counts.get(what, 0) + number

    def wait_for_hub(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5):
                    return True
            except OSError:
                time.sleep(0.05)
        return False

    def note(self, who, what, **fields):
        """A line in a history that its process cannot write itself."""
        line = {"at": int(time.time() * 1000), "who": who, "what": what} | fields
        with open(self.file(f"{who}.jsonl"), "a", encoding="utf-8") as history:
            # Ends a line that the kill has cut.
            history.write("\n" + json.dumps(line) + "\n")

    def calendar(self):
        """The environment that gives the hub its own calendar clock, which is right at first."""
        if not self.options.calendar:
            return {}
        self.set_clock(0)
        return {"LD_PRELOAD": self.options.calendar, "CALENDAR": self.file("calendar")}

    def set_clock(self, seconds):
        """Sets the error of the hub's calendar clock. A running hub sees it at once."""
        with open(self.file("calendar"), "r+b" if os.path.exists(self.file("calendar")) else "wb") as file:
            file.write(struct.pack("=q", seconds))

    def end_hub(self, may_have_ended=False):
        self.count_found()
        self.hub.kill(may_have_ended)

    def count_found(self):
        """Adds the rooms that this hub has found rewound. It reports the number once a second."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=2) as answer:
                found = re.search(r"(?m)^holdfast_hub_rooms_rewound_total (\d+)", answer.read().decode())
        except OSError:
            return  # It does not listen yet.
        if found:
            self.count("rewind found", int(found[1]))

    def kill_hub(self):
        self.end_hub()
        time.sleep(self.chance.uniform(0, 0.4))
        self.hub.start()
        self.count("hub killed")

    def change_date(self, direction, what):
        """The date of the hub's machine jumps, the hub is restarted with it, and then it may be right again."""
        self.set_clock(direction * self.chance.choice(WRONG))
        time.sleep(self.chance.uniform(0.5, 1.5))
        self.kill_hub()
        time.sleep(self.chance.uniform(0.5, 2))
        if self.chance.random() < 0.5:
            self.correct_date()
        self.count(what)

    def correct_date(self):
        self.set_clock(0)
        self.kill_hub()

    def kill_client(self, clients=None):
        client = self.chance.choice(clients or self.clients)
        client.kill()
        self.note(client.name, "died")
        time.sleep(self.chance.uniform(0, 0.3))
        client.start()
        self.count("client killed")
        if client in self.strangers:
            self.count("stranger killed")

    def restore_client(self):
        """A stranger's store is replaced by the copy of its last restore.

        The protocol covers only a copy of the device that the store still has. Another device has renumbered the outbox.
        """
        client = self.chance.choice(self.strangers)
        client.kill()
        self.note(client.name, "died")
        store, copy = self.file(f"{client.name}.sqlite"), self.file(f"{client.name}.copy")
        if os.path.exists(copy) and device_of(copy) == device_of(store):
            for end in ("", "-wal", "-shm"):
                remove(store + end)
                if os.path.exists(copy + end):
                    shutil.copy(copy + end, store + end)
            self.note(client.name, "restored")
            self.count("client restored")
        for end in ("", "-wal", "-shm"):
            remove(copy + end)
            if os.path.exists(store + end):
                shutil.copy(store + end, copy + end)
        client.start()

    def restore_hub(self, is_seen=True):
        """The hub's directory is replaced by a raw copy of its files, made while no process had it open."""
        self.end_hub()
        copy = self.file("hub.copy" if is_seen else "hub.snapshot")
        if os.path.exists(copy):
            self.write_log_down()
            shutil.rmtree(self.data)
            shutil.move(copy, self.data)
            epochs = {} if is_seen else settle_in(self.data)
            for room in ROOMS:
                self.note("hub", "rewound", room=room, **({"epoch": epochs[room]} if room in epochs else {}))
            self.count("hub restored" if is_seen else "unseen restored")
        else:
            shutil.copytree(self.data, copy)
        self.hub.start()

    def freeze(self, process, what):
        process.freeze()
        time.sleep(self.chance.uniform(0.2, self.options.freeze))
        process.thaw()
        self.count(what)

    def fill_disk(self):
        """The disk of the hub's log is full for a while."""
        filler = os.path.join(self.options.disk, "filler")
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 65536)
            except OSError:
                pass
            try:
                while True:
                    file.write(b"\0" * 512)
            except OSError:
                pass
        time.sleep(self.chance.uniform(0.5, 1.5))
        os.remove(filler)
        self.count("disk full")

    def read_only_disk(self):
        """The hub is killed and restarts on a read-only disk, which is writable again later."""
        remount = ["mount", "-o", "remount,ro", self.options.disk]
        self.end_hub()
        if subprocess.run(remount, check=False).returncode == 0:
            self.hub.start()
            time.sleep(self.chance.uniform(0.5, 1.5))
            # A hub that cannot write its log may report this and end.
            self.end_hub(may_have_ended=True)
            subprocess.run(["mount", "-o", "remount,rw", self.options.disk], check=True)
            self.count("disk read-only")
        self.hub.start()

    def misfortunes(self):
        return [
            self.kill_hub, self.kill_hub, self.kill_client, self.kill_client,
            lambda: self.freeze(self.hub, "hub frozen"),
            lambda: self.freeze(self.chance.choice(self.clients), "client frozen"),
        ] + ([self.fill_disk, self.read_only_disk] if self.options.disk else []) + (
            [lambda: self.kill_client(self.strangers)] if self.strangers else []) + (
            [self.restore_client] * 3 if "client" in self.options.restore else []) + (
            [self.restore_hub] * 2 if "hub" in self.options.restore else []) + (
            [lambda: self.restore_hub(is_seen=False)] * 2 if "unseen" in self.options.restore else []) + ([
                lambda: self.change_date(1, "date ahead"), lambda: self.change_date(-1, "date behind"),
            ] if self.options.calendar else [])

    def run(self):
        """Injects faults for a while, repairs everything, and lets the clients finish. Returns False if they cannot."""
        for process in self.all():
            process.start()
        if not self.wait_for_hub():
            return fail("the hub does not come up")
        end = time.monotonic() + self.options.seconds
        misfortunes = self.misfortunes()
        # Each fault at least once, then at random.
        waiting = self.chance.sample(misfortunes, len(misfortunes))
        while time.monotonic() < end or waiting or self.has_found_too_few() and time.monotonic() < end + PATIENCE:
            time.sleep(self.chance.uniform(0.1, 0.8))
            for process in self.all():
                process.watch()
            (waiting.pop() if waiting else self.chance.choice(misfortunes))()
        if self.options.calendar:
            self.correct_date()
        if not self.wait_for_hub():
            return fail("the hub does not come back")
        return self.settle()

    def has_found_too_few(self):
        return self.counts.get("rewind found", 0) < self.options.found

    def settle(self):
        healed = time.monotonic()
        end = healed + PATIENCE
        for client in self.clients:
            client.say("drain")
        for client in self.clients:
            if not client.hears("drained", end):
                return fail(f"{client.name} still has messages to send after {PATIENCE} s")
        heads = " ".join(f"{room}={seq}" for room, seq in self.heads().items())
        for client in self.clients:
            client.say("present " + " ".join(client.name for client in self.clients))
            client.say(f"heads {heads}")
        for client in self.clients:
            if not client.hears("complete", end):
                return fail(f"{client.name} lacks messages or members after {PATIENCE} s")
        print(f"# everybody had everything, and saw everybody, {time.monotonic() - healed:.1f} s after the last misfortune")
        for client in self.clients:
            client.say("finish")
        for client in self.clients:
            if not client.ends(end):
                return fail(f"{client.name} did not end cleanly")
        self.count_found()
        self.hub.signal(signal.SIGTERM)
        if not self.hub.ends(end):
            return fail("the hub does not end on SIGTERM")
        return True

    def heads(self):
        """The ends of the hub's logs. Entries that were acked before a restore may be missing."""
        with contextlib.closing(sqlite3.connect(f"file:{self.data}/rooms.sqlite?mode=ro", uri=True)) as file:
            return dict.fromkeys(ROOMS, 0) | dict(file.execute("SELECT name, head FROM rooms"))

    def judge(self):
        """The results of both checkers for all histories and the hub's own log."""
        if not self.write_log_down():
            return fail("the hub's log cannot be read")
        with open(self.file("script.jsonl"), "w", encoding="utf-8") as file:
            for what, count in self.counts.items():
                file.write(json.dumps({"at": 0, "who": "script", "what": "counted", "text": what, "count": count}) + "\n")
        histories = [self.file(f"{name}.jsonl") for name in [client.name for client in self.clients] + ["hub", "script"]]
        least = f"hub killed={self.options.kills},client killed={self.options.kills}"
        if self.strangers:
            least += ",stranger killed=1"
        if self.options.disk:
            least += ",disk full=1,disk read-only=1"
        if self.options.calendar:
            least += ",date ahead=1,date behind=1"
        if self.options.found:
            least += f",rewind found={self.options.found}"
        for what in self.options.restore:
            least += f",{what} restored=1"
        judges = {
            "the checker of the simulation": [self.options.peer, "rooms-judge", *histories, "--least", least],
            "checker.py": [sys.executable, os.path.join(HERE, "checker.py"), *histories]}
        is_good = True
        for name, judge in judges.items():
            judged = subprocess.run(judge, check=False, capture_output=True, text=True)
            for line in (judged.stdout + judged.stderr).splitlines():
                print(f"# {name}: {line}")
            if judged.returncode != 0:
                is_good = fail(f"{name} found a violation; the histories are in {self.options.reports}")
        return is_good

    def write_log_down(self):
        dump = [self.options.peer, "rooms-log", self.data, "--rooms", ",".join(ROOMS), "--history", self.file("hub.jsonl")]
        return subprocess.run(dump, check=False).returncode == 0

    def stop(self):
        for process in self.all():
            process.thaw()
            process.signal(signal.SIGKILL)


def settle_in(data):
    """Makes a restored directory look as if it was never moved, as a snapshot of a volume does. Returns the epochs of its rooms.

    A snapshot keeps inode numbers and times. The log stores them, so the current ones are written into it.
    """
    def identity(name, is_unchanging=False):
        status = os.stat(os.path.join(data, name))
        return f"{status.st_ino}/0/{status.st_ctime_ns if is_unchanging else 0}"

    with contextlib.closing(sqlite3.connect(os.path.join(data, "rooms.sqlite"))) as file, file:
        for name, text in ("file", identity("rooms.sqlite")), ("high", identity("high")), ("lock", identity("lock", True)):
            file.execute("UPDATE meta SET value = ? WHERE name = ?", (text, name))
        return {room: f"{epoch % (1 << 64):016x}" for room, epoch in file.execute("SELECT name, epoch FROM rooms")}


def device_of(store):
    with sqlite3.connect(store) as file:
        return file.execute("SELECT device FROM store").fetchone()


def remove(path):
    if os.path.exists(path):
        os.remove(path)


def fail(why):
    print(f"not ok {why}")
    return False


def main():
    parser = argparse.ArgumentParser()
    for option in ("holdfast", "peer", "reports"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--strangers", type=int, default=1, help="clients in Python, written from the protocol's page alone")
    parser.add_argument("--restore", choices=("client", "hub", "unseen"), action="append", default=[], help="what is put back from a copy")
    parser.add_argument("--found", type=int, default=0, help="how many rooms at least a client's proof must have shown to have gone back")
    parser.add_argument("--calendar", help="the library that calendar.c makes")
    parser.add_argument("--kills", type=int, default=1, help="how often at least the hub, and clients, must have been killed")
    parser.add_argument("--pause", type=int, default=20, help="milliseconds between two messages of a client")
    parser.add_argument("--freeze", type=float, default=2, help="seconds that something is frozen at most")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--disk", help="a file system of its own, small, to be filled")
    options = parser.parse_args()
    stage = Stage(options)
    name = f"{options.seconds:.0f} s of chaos{' on a small disk' if options.disk else ''}, seed {options.seed}"
    try:
        is_good = stage.run() and stage.judge()
    except Exception as error:  # noqa: BLE001: any error invalidates the run
        is_good = fail(repr(error))
    finally:
        stage.stop()
    print(f"{'ok' if is_good else 'not ok'} {name}")
    sys.exit(0 if is_good else 1)


main()
