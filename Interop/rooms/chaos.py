#!/usr/bin/env python3
"""Clients and a hub of the real kind, badly treated; then the history checker judges what they wrote down. See ../README.md.

chaos.py --holdfast PROGRAM --peer PROGRAM --reports DIR [--seconds N] [--clients N] [--strangers N] [--kills N] [--seed N] [--disk DIR]
    [--restore client] [--restore hub] [--restore unseen] [--found N] [--calendar LIBRARY]

The hub is killed with -9 and frozen, so are the clients, and the links between them are cut. The strangers among the clients are client.py,
which knows of the protocol only what its page says. Two checkers judge: that of the simulation, and checker.py. DIR of --disk is a small
file system of its own, which is filled and made read-only on the way. With --restore a stranger's store, or the hub's directory, is put
back from a copy of its files; unseen, as by a snapshot of a volume, with the hub's: then at least N rooms must have been found rewound by a
client's proof. LIBRARY is what calendar.c makes: with it the date of the hub's machine is wrong at times. Prints `ok` and `not ok` lines.
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
PATIENCE = 90  # seconds that anything may take which bounds a failure only
ROOMS = ("green", "blue")
# By how many seconds a hub's date is wrong: by more than a publication's may be ahead of it, and by more than the time in which devices are
# remembered.
WRONG = (2 * 3600, 100 * 86400)
# A link that is slow at times, cut in every way, and silent now and then.
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
        """Whether the program says this line before a moment."""
        while select.select([self.child.stdout], [], [], max(0, end - time.monotonic()))[0]:
            line = self.child.stdout.readline()
            if not line:
                return False
            if line.decode().strip() == word:
                return True
        return False

    def ends(self, end):
        """Whether the program ends well before a moment."""
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
        """A program that ended by itself was not killed by us."""
        if self.child.poll() is not None and not may_have_ended:
            raise RuntimeError(f"{self.name} ended by itself, with status {self.child.returncode}; see {self.log}")

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)


class Stage:
    """All processes of one run."""

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
        """A line in a history: what its writer cannot write itself."""
        line = {"at": int(time.time() * 1000), "who": who, "what": what} | fields
        with open(self.file(f"{who}.jsonl"), "a", encoding="utf-8") as history:
            # A line that was torn by the kill ends here.
            history.write("\n" + json.dumps(line) + "\n")

    def calendar(self):
        """What gives the hub a calendar of its own, which is right at first."""
        if not self.options.calendar:
            return {}
        self.set_clock(0)
        return {"LD_PRELOAD": self.options.calendar, "CALENDAR": self.file("calendar")}

    def set_clock(self, seconds):
        """Says by how much the hub's calendar is wrong; one that runs has it at once."""
        with open(self.file("calendar"), "r+b" if os.path.exists(self.file("calendar")) else "wb") as file:
            file.write(struct.pack("=q", seconds))

    def end_hub(self, may_have_ended=False):
        self.count_found()
        self.hub.kill(may_have_ended)

    def count_found(self):
        """Adds up the rooms that this hub has found to have gone back, as it tells once a second."""
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
        """The date of the hub's machine is wrong from one moment to the next, and when the hub is started; then it may be right again."""
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
        """A stranger's store is put back from the copy that was made of it when it was restored last.

        It is promised for a copy that was made by the device that the store still has: another one has numbered the outbox anew.
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
        """The hub's directory is put back from a raw copy of its files, made while nobody had it open."""
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
        """Nothing more fits beside the hub's log, for a while."""
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
        """The hub is killed and comes back where nothing can be written; then it can again."""
        remount = ["mount", "-o", "remount,ro", self.options.disk]
        self.end_hub()
        if subprocess.run(remount, check=False).returncode == 0:
            self.hub.start()
            time.sleep(self.chance.uniform(0.5, 1.5))
            # A hub that cannot write its log may say so and end.
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
        """Lets everything go wrong for a while, heals it, and lets the clients finish; false if they cannot."""
        for process in self.all():
            process.start()
        if not self.wait_for_hub():
            return fail("the hub does not come up")
        end = time.monotonic() + self.options.seconds
        misfortunes = self.misfortunes()
        # Each of them at least once, then as chance has it.
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
                return fail(f"{client.name} has not all messages, or does not see everybody, after {PATIENCE} s")
        print(f"# everybody had everything, and saw everybody, {time.monotonic() - healed:.1f} s after the last misfortune")
        for client in self.clients:
            client.say("finish")
        for client in self.clients:
            if not client.ends(end):
                return fail(f"{client.name} has ended badly")
        self.count_found()
        self.hub.signal(signal.SIGTERM)
        if not self.hub.ends(end):
            return fail("the hub does not end when it is asked to")
        return True

    def heads(self):
        """Where the hub's logs end: what was acked before one was put back may be gone."""
        with contextlib.closing(sqlite3.connect(f"file:{self.data}/rooms.sqlite?mode=ro", uri=True)) as file:
            return dict.fromkeys(ROOMS, 0) | dict(file.execute("SELECT name, head FROM rooms"))

    def judge(self):
        """The verdicts of both checkers over what everybody wrote down and the hub's own log."""
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
                is_good = fail(f"a promise was broken, says {name}; the histories are in {self.options.reports}")
        return is_good

    def write_log_down(self):
        dump = [self.options.peer, "rooms-log", self.data, "--rooms", ",".join(ROOMS), "--history", self.file("hub.jsonl")]
        return subprocess.run(dump, check=False).returncode == 0

    def stop(self):
        for process in self.all():
            process.thaw()
            process.signal(signal.SIGKILL)


def settle_in(data):
    """Has a hub's directory that was put back say that it was never elsewhere, as a snapshot of a whole volume does; the epochs of its rooms.

    The files keep their numbers and times there: the log holds what they were, so what they are now is written into it.
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
    except Exception as error:  # noqa: BLE001: whatever it is, the run is worth nothing
        is_good = fail(repr(error))
    finally:
        stage.stop()
    print(f"{'ok' if is_good else 'not ok'} {name}")
    sys.exit(0 if is_good else 1)


main()
