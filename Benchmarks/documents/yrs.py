"""What `HoldfastPeer documents-bench` measures, with yrs (pycrdt). Prints "value name" lines; milliseconds are processor time.

    yrs.py trace FILE | updates FILE | memory STATE | random COUNT

The calls go through Python, which takes its own share of the time of each edit.
"""
import gc
import gzip
import json
import sys
import time

from pycrdt import Doc, Text, merge_updates


def timed(name, work):
    start = time.process_time()
    result = work()
    print(f"{(time.process_time() - start) * 1000:.2f} {name}")
    return result


def rss():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def in_bytes(trace):
    """The patches with positions in UTF-8 bytes, which pycrdt counts."""
    patches = [tuple(p[:3]) for t in trace["txns"] for p in t["patches"]]
    if trace["endContent"].isascii() and all(p[2].isascii() for p in patches):
        return patches
    content, out = "", []
    for at, removed, inserted in patches:
        out.append((len(content[:at].encode()), len(content[at:at + removed].encode()), inserted))
        content = content[:at] + inserted + content[at + removed:]
    return out


def load(state):
    doc = Doc()
    text = doc.get("text", type=Text)
    doc.apply_update(state)
    len(str(text))
    return doc


def applied(updates):
    doc = Doc()
    for update in updates:
        doc.apply_update(update)
    return doc


def replay(patches):
    doc, updates = Doc(client_id=1), []
    text = doc.get("text", type=Text)
    subscription = doc.observe(lambda event: updates.append(event.update))
    for at, removed, inserted in patches:
        with doc.transaction():
            if removed:
                del text[at:at + removed]
            if inserted:
                text.insert(at, inserted)
    return doc, text, updates, subscription


def main(kind, what):
    if kind == "trace":
        with gzip.open(what, "rt") as file:
            trace = json.load(file)
        patches = in_bytes(trace)
        doc, text, updates, _ = timed("replay ms", lambda: replay(patches))
        assert str(text) == trace["endContent"]
        state = timed("encode v1 ms", doc.get_update)
        print(len(state), "v1 B")
        timed("parse v1 ms", lambda: load(state))
        timed("apply all updates ms", lambda: applied(updates))
        timed("merge 2000 updates ms", lambda: merge_updates(*updates[:2000]))
    elif kind == "updates":
        with gzip.open(what, "rt") as file:
            updates = [bytes.fromhex(json.loads(line)["v1"]) for line in file]
        doc = timed("apply all updates ms", lambda: applied(updates))
        print(len(doc.get_update()), "v1 B")
    elif kind == "memory":
        with open(what, "rb") as file:
            state = file.read()
        load(state)
        before = rss()
        documents = [load(state) for _ in range(20)]
        print((rss() - before) // len(documents), "document memory B")
    else:
        seed, patches = 1, []
        for length in range(int(what)):
            seed = (seed * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
            patches.append(((seed >> 33) % (length + 1), 0, "x"))
        doc, *_ = timed("random replay ms", lambda: replay(patches))
        state = doc.get_update()
        timed("random parse v1 ms", lambda: load(state))


main(*sys.argv[1:])
