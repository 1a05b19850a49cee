"""The store of client.py: its rooms, entries and outbox, in SQLite. Each method is one transaction on disk."""
import sqlite3
import uuid
from dataclasses import dataclass

TABLES = """
CREATE TABLE IF NOT EXISTS store (device TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS room (name TEXT PRIMARY KEY, epoch TEXT NOT NULL, seq INTEGER NOT NULL, first INTEGER NOT NULL,
    next INTEGER NOT NULL, proof TEXT);
CREATE TABLE IF NOT EXISTS entry (room TEXT, seq INTEGER, id TEXT, device TEXT, cseq INTEGER, digest TEXT, body BLOB,
    PRIMARY KEY (room, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox (room TEXT, cseq INTEGER, id TEXT, at INTEGER, kind TEXT, body BLOB, is_binary INTEGER, state TEXT,
    PRIMARY KEY (room, cseq)) WITHOUT ROWID;
"""
NOWHERE = "0" * 16


@dataclass
class Message:
    """A message in the outbox. Its state is `queued`, `burning` (permanently refused, a void takes its place) or `failed`."""

    cseq: int
    id: str
    at: int
    kind: str
    body: bytes
    is_binary: bool
    state: str = "queued"


@dataclass
class Entry:
    """An entry of a room's log, with the received bytes of its payload."""

    seq: int
    id: str
    device: str
    cseq: int
    digest: str
    body: bytes


class Store:
    def __init__(self, path):
        self.file = sqlite3.connect(path, isolation_level=None)
        # A power cut must not undo what the hub or the app was told.
        self.file.execute("PRAGMA journal_mode = WAL")
        self.file.execute("PRAGMA synchronous = FULL")
        self.file.executescript(TABLES)
        if "proof" not in [column[1] for column in self.file.execute("PRAGMA table_info(room)")]:  # from an earlier version
            self.file.execute("ALTER TABLE room ADD COLUMN proof TEXT")
        row = self.file.execute("SELECT device FROM store").fetchone()
        self.device = row[0] if row else uuid.uuid4().hex
        if row is None:
            self.write(("INSERT INTO store VALUES (?)", (self.device,)))

    def write(self, *changes):
        """Runs all of these statements, or none."""
        self.file.execute("BEGIN IMMEDIATE")
        try:
            for statement, values in changes:
                self.file.execute(statement, values)
            self.file.execute("COMMIT")
        except BaseException:
            self.file.execute("ROLLBACK")
            raise

    def room(self, name):
        """The cursor (epoch, seq, proof), the first stored entry, the next cseq, and the outbox in order."""
        self.file.execute("INSERT OR IGNORE INTO room VALUES (?, ?, 0, 1, 1, NULL)", (name, NOWHERE))
        row = self.file.execute("SELECT epoch, seq, proof, first, next FROM room WHERE name = ?", (name,)).fetchone()
        outbox = self.file.execute(
            "SELECT cseq, id, at, kind, body, is_binary, state FROM outbox WHERE room = ? ORDER BY cseq", (name,))
        return *row, [Message(*message) for message in outbox]

    def entries(self, name):
        rows = self.file.execute("SELECT seq, id, device, cseq, digest, body FROM entry WHERE room = ? ORDER BY seq", (name,))
        return [Entry(*row) for row in rows]

    def queue(self, room, message):
        """Stores the message and its number."""
        self.write(
            ("INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (room, *vars(message).values())),
            ("UPDATE room SET next = ? WHERE name = ?", (message.cseq + 1, room)))

    def mark(self, room, cseq, state):
        self.write(("UPDATE outbox SET state = ? WHERE room = ? AND cseq = ?", (state, room, cseq)))

    def remove(self, room, numbers):
        self.write(*(("DELETE FROM outbox WHERE room = ? AND cseq = ?", (room, cseq)) for cseq in numbers))

    def take(self, room, epoch, seq, proof, entries, proved, replaces=False):
        """Stores entries with the new cursor and its proof, and removes proven messages from the outbox."""
        changes = [("DELETE FROM entry WHERE room = ?", (room,))] if replaces else []
        changes += [
            ("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", (room, *vars(entry).values())) for entry in entries]
        changes += [("DELETE FROM outbox WHERE room = ? AND cseq = ?", (room, cseq)) for cseq in proved]
        changes.append(("UPDATE room SET epoch = ?, seq = ?, proof = ? WHERE name = ?", (epoch, seq, proof, room)))
        if replaces:
            changes.append(("UPDATE room SET first = ? WHERE name = ?", (seq - len(entries) + 1, room)))
        self.write(*changes)

    def prepend(self, room, entries):
        """Adds older entries right before the first one."""
        self.write(
            *(("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", (room, *vars(entry).values())) for entry in entries),
            ("UPDATE room SET first = ? WHERE name = ?", (entries[0].seq, room)))

    def renew(self, device, outboxes):
        """Takes a new device, with these outboxes by room, numbered from 1."""
        changes = [("UPDATE store SET device = ?", (device,)), ("DELETE FROM outbox", ()), ("UPDATE room SET next = 1", ())]
        for room, messages in outboxes.items():
            changes += [
                ("INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (room, *vars(message).values())) for message in messages]
            changes.append(("UPDATE room SET next = ? WHERE name = ?", (len(messages) + 1, room)))
        self.write(*changes)
        self.device = device
