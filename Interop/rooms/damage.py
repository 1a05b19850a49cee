#!/usr/bin/env python3
"""Damage to a hub's directory while no hub uses it: a flipped byte, a file that is shorter, missing or older.

damage.py list          each damage, and its expected outcome: kept, renewed, or - (any that keeps the invariants)
damage.py do DIR NAME   applies it to DIR/log; older copies of its files are in DIR/old
"""
import os
import shutil
import sys

FILE, JOURNAL, INDEX, MARK = "rooms.sqlite", "rooms.sqlite-wal", "rooms.sqlite-shm", "high"
FRAME = 24 + 4096
# Parts of a journal header, a frame header and a page, with a byte of each (https://sqlite.org/walformat.html).
HEAD = {"magic": 3, "version": 5, "page size": 10, "sequence": 15, "salt 1": 17, "salt 2": 22, "checksum 1": 25, "checksum 2": 31}
FRAME_HEAD = {"page number": 3, "size": 7, "salt 1": 9, "salt 2": 14, "checksum 1": 18, "checksum 2": 23}
PAGE = {"kind": 0, "free block": 2, "cell count": 4, "cell place": 9, "middle": 2048, "end": 4090}
# https://sqlite.org/fileformat2.html#the_database_header
FILE_HEAD = {
    "magic": 3, "page size": 17, "format": 18, "change counter": 27, "pages": 31, "free list": 35, "schema cookie": 43, "schema format": 47,
    "vacuum": 55, "encoding": 59, "version": 63, "application": 71, "valid for": 95,
}
INDEX_PARTS = {
    "version": 1, "end": 17, "checksum": 41, "second copy": 60, "backfill": 97, "marks": 105, "locks": 122, "pages": 140, "hash": 17000,
}


def flips():
    for part, place in HEAD.items():
        yield f"journal, {part}", JOURNAL, lambda size, place=place: place, "renewed"
    for name, which in {"first": 0, "middle": 0.5, "last": 1}.items():
        for part, place in {**FRAME_HEAD, **{f"page: {part}": 24 + place for part, place in PAGE.items()}}.items():
            def find(size, which=which, place=place):
                frames = (size - 32) // FRAME
                return 32 + int(which * (frames - 1)) * FRAME + place
            yield f"journal, {name} frame, {part}", JOURNAL, find, "renewed"
    for part, place in FILE_HEAD.items():
        yield f"file, {part}", FILE, lambda size, place=place: place, "-"
    for page in range(1, 12):
        for part, place in PAGE.items():
            yield f"file, page {page + 1}, {part}", FILE, lambda size, at=page * 4096 + place: at if at < size else None, "-"
    for part, place in INDEX_PARTS.items():
        yield f"index, {part}", INDEX, lambda size, place=place: place, "kept"
    for part, place in {"magic": 2, "number": 9, "checksum": 20}.items():
        yield f"mark, {part}", MARK, lambda size, place=place: place, "renewed"


def changes():
    """Name, expected outcome, and the action on the directory and its older copy."""
    def flip(file, find):
        def act(log, _):
            with open(f"{log}/{file}", "r+b") as handle:
                place = find(handle.seek(0, 2))
                if place is None:
                    return
                handle.seek(place)
                byte = handle.read(1)[0]
                handle.seek(place)
                handle.write(bytes([byte ^ 1 << place % 8]))
        return act

    def cut(file, length):
        def act(log, _):
            size = os.path.getsize(f"{log}/{file}")
            os.truncate(f"{log}/{file}", min(size, int(length(size))))
        return act

    def older(log, old, file):
        with open(f"{old}/{file}", "rb") as source, open(f"{log}/{file}", "r+b") as target:
            target.truncate(0)
            target.write(source.read())

    def copied_back(log, _):
        shutil.copytree(log, log + ".copy")
        shutil.rmtree(log)
        shutil.copytree(log + ".copy", log)

    def restored(log, old):
        shutil.rmtree(log)
        shutil.copytree(old, log)

    def written_over(log, old):
        shutil.copytree(old, log, dirs_exist_ok=True)

    def moved(log, _):
        os.rename(log, log + ".moved")
        os.rename(log + ".moved", log)

    yield "nothing", "kept", lambda log, old: None
    for name, file, find, wanted in flips():
        yield f"flipped: {name}", wanted, flip(file, find)
    for name, file, wanted in ("journal", JOURNAL, "renewed"), ("file", FILE, "-"), ("index", INDEX, "kept"), ("mark", MARK, "renewed"):
        for text, length in {
            "to nothing": lambda size: 0, "to 20 bytes": lambda size: 20, "to a half": lambda size: size / 2,
            "by a byte": lambda size: size - 1,
        }.items():
            yield f"cut: {name}, {text}", wanted, cut(file, length)
        yield f"gone: {name}", wanted, lambda log, old, file=file: os.remove(f"{log}/{file}")
    yield "older: journal", "-", lambda log, old: older(log, old, JOURNAL)
    yield "older: file", "-", lambda log, old: older(log, old, FILE)
    yield "older: index", "kept", lambda log, old: older(log, old, INDEX)
    # As after a power cut: the mark only says that no earlier entry is missing.
    yield "older: mark", "kept", lambda log, old: older(log, old, MARK)
    yield "older: file and journal", "renewed", lambda log, old: [older(log, old, file) for file in (FILE, JOURNAL, INDEX)]
    yield "directory copied away and back", "renewed", copied_back
    yield "directory restored from an older copy", "renewed", restored
    yield "directory written over with an older copy", "renewed", written_over
    yield "directory moved away and back", "kept", moved


if sys.argv[1:] == ["list"]:
    for name, wanted, _ in changes():
        print(f"{wanted}|{name}")
elif len(sys.argv) == 4 and sys.argv[1] == "do":
    next(act for name, _, act in changes() if name == sys.argv[3])(sys.argv[2] + "/log", sys.argv[2] + "/old")
else:
    sys.exit(__doc__)
