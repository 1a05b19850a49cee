#!/usr/bin/env python3
"""Judges the histories of clients and a hub by the guarantees of docs/rooms-protocol.md. It is independent of Tests/RoomHistory.

checker.py HISTORY…        prints violations and what was checked; ends with 1 after a violation
checker.py --self-test     breaks a valid history in every way that the rules cover: each violation must be detected
"""
import json
import sys
from collections import defaultdict


def lines_of(path):
    """The events of a file. A line that a kill has cut is skipped if the program started or ended after it."""
    torn = None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                event = json.loads(line)
            except ValueError:
                torn = number
                continue
            if torn and event["what"] not in ("died", "started", "restored"):
                raise ValueError(f"{path}: line {torn} is no event")
            torn = None
            yield event


def key(item):
    return item["id"], item["device"], item["cseq"], item["digest"]


class Copy:
    """A client's copy of one room, as its app saw it."""

    def __init__(self):
        self.epoch, self.first, self.seq = None, 1, 0
        self.may_be_ahead = self.may_be_behind = False
        self.stored = None


class Log:
    """A room's log in one epoch, as the hub itself wrote it: at the end, or before a restore."""

    def __init__(self):
        self.base, self.items, self.names = 1, {}, set()


class Checker:
    def __init__(self):
        self.faults, self.looked = [], defaultdict(int)
        self.logs = defaultdict(dict)  # by room and epoch
        self.older = defaultdict(list)  # by room: the logs before they were rewound within their epoch
        self.unseen = set()  # rooms and epochs in which a log was rewound without detection
        self.last = {}  # by room: the last log of the hub
        self.submitted = {}  # by room and name: the digest
        self.acked = []  # client, room, name, epoch, number
        self.outcomes = defaultdict(dict)  # by client: the last outcome of a message, by room and name
        self.copies = defaultdict(Copy)  # by client and room
        self.seen = defaultdict(dict)  # by room, epoch and number: the entry, and the first client that saw it
        self.was_rewound = self.was_restored = False
        self.unsent = []

    def fault(self, text):
        self.faults.append(text)

    def take(self, event):
        who, what, room = event["who"], event["what"], event.get("room")
        if what == "submitted":
            self.submitted[room, event["id"]] = event["digest"]
        elif what in ("queued", "refused", "discarded", "failed", "acked", "retried"):
            self.outcome(who, what, room, event)
        elif what in ("applied", "replaced", "paged", "opened", "store"):
            items = event.get("items") or []
            self.contiguous(f"{who}: {what} of {room}", items)
            copy = self.copies[who, room]
            getattr(self, what)(f"{who} in {room}", copy, event, items)
            for item in items:
                self.see(who, room, event.get("epoch") or copy.epoch, item)
        elif what == "started":
            for copy in (copy for (owner, _), copy in self.copies.items() if owner == who):
                copy.may_be_ahead = True
        elif what == "restored":
            self.was_restored = True
            for copy in (copy for (owner, _), copy in self.copies.items() if owner == who):
                copy.may_be_behind = True
            for outcome in self.outcomes[who].values():
                outcome["may be anywhere"] = True
        elif what == "outbox":
            self.unsent += [f"{who} in {room}: {name} still waits" for name in event.get("names") or []]
        elif what == "log":
            self.log(room, event["epoch"], event.get("seq", 1), event.get("items") or [])
        elif what == "rewound":
            self.was_rewound = True
            if "epoch" in event:
                self.go_back(room, event["epoch"])
        elif what == "broken":
            self.fault(f"{who}: {event.get('text')}")

    # The outcomes of an app's messages

    def outcome(self, who, what, room, event):
        outcome = self.outcomes[who].setdefault((room, event["id"]), {})
        if what in ("failed", "discarded") and "acked" in outcome and "may be anywhere" not in outcome:
            self.fault(f"{who} in {room}: {event['id']} was acked, and then {what}")
        if what == "retried":
            outcome.pop("failed", None)
        if what == "queued":
            outcome.pop("given up", None)
        # The message has certainly failed. A hub does not remember forever the void that used its number.
        if what == "failed" and not event.get("isUncertain"):
            outcome["given up"] = event
        outcome[what] = event
        if what == "acked":
            self.looked["acks"] += 1
            self.acked.append((who, room, event["id"], event["epoch"], event.get("seq", 0)))

    # A client's copy of a room (G4)

    def contiguous(self, name, items):
        for one, other in zip(items, items[1:]):
            if other["seq"] != one["seq"] + 1:
                self.fault(f"{name}: {other['seq']} follows {one['seq']}")

    def applied(self, name, copy, event, items):
        if copy.epoch is not None and copy.epoch != event["epoch"]:
            self.fault(f"{name}: entries of epoch {event['epoch']} behind some of {copy.epoch}")
        if items and items[0]["seq"] != copy.seq + 1:
            self.fault(f"{name}: {items[0]['seq']} was applied behind {copy.seq}")
        copy.epoch, copy.seq = event["epoch"], items[-1]["seq"] if items else copy.seq

    def replaced(self, name, copy, event, items):
        seq = event.get("seq", 0)
        if copy.epoch == event["epoch"] and seq < copy.seq:
            self.fault(f"{name}: went back from {copy.seq} to {seq} in one epoch")
        if items and items[-1]["seq"] != seq:
            self.fault(f"{name}: a snapshot to {items[-1]['seq']} with a cursor at {seq}")
        copy.epoch, copy.seq, copy.first = event["epoch"], seq, seq - len(items) + 1

    def paged(self, _, copy, event, items):
        copy.first = min(copy.first, event.get("seq", copy.first))

    def opened(self, name, copy, event, _):
        epoch, seq = event.get("epoch"), event.get("seq", 0)
        if copy.epoch is not None and not copy.may_be_behind:
            if epoch == copy.epoch and seq < copy.seq:
                self.fault(f"{name}: {copy.seq} was told, and {seq} was stored")
            if not copy.may_be_ahead and (epoch, seq) != (copy.epoch, copy.seq):
                self.fault(f"{name}: {copy.seq} of {copy.epoch} was told, and {seq} of {epoch} was stored")
        copy.epoch, copy.seq = (None if not seq and not int(epoch, 16) else epoch), seq
        copy.first = seq + 1 - event["count"] if "count" in event else copy.first
        copy.may_be_ahead = copy.may_be_behind = False

    def store(self, name, copy, event, items):
        copy.stored = {item["seq"]: key(item) for item in items}
        seq = event.get("seq", 0)
        if (event.get("epoch"), seq) != (copy.epoch, copy.seq):
            self.fault(f"{name}: {copy.seq} of {copy.epoch} was told, and {seq} of {event.get('epoch')} is stored at the end")
        first = copy.first if "limit" not in event else max(copy.first, seq - event["limit"] + 1)
        missing = [number for number in range(first, seq + 1) if number not in copy.stored]
        if missing:
            self.fault(f"{name}: {len(missing)} entries are not stored, first {missing[0]}")

    def see(self, who, room, epoch, item):
        self.looked["sights"] += 1
        self.seen[room, epoch, item["seq"]].setdefault(key(item), who)

    # The log (G1 to G3)

    def go_back(self, room, epoch):
        """An older log was restored and keeps its epoch. Its numbers may be given again until a client's proof shows this."""
        self.unseen.add((room, epoch))
        if epoch in self.logs[room]:
            self.older[room].append(self.logs[room].pop(epoch))

    def logs_of(self, room, epoch):
        """The logs that may contain an entry of an epoch. A log rewound without detection gets another epoch later, with its content."""
        if (room, epoch) in self.unseen:
            return self.older[room] + list(self.logs[room].values())
        return [self.logs[room][epoch]] if epoch in self.logs[room] else []

    def log(self, room, epoch, base, items):
        self.contiguous(f"the log of {room}", items)
        if items and items[0]["seq"] != base:
            self.fault(f"the log of {room}: begins at {items[0]['seq']} and says {base}")
        log = self.last[room] = self.logs[room].setdefault(epoch, Log())
        log.base, names, numbers = max(log.base, base), set(), {}
        for item in items:
            self.looked["entries"] += 1
            if item["id"] in names:
                self.fault(f"the log of {room}: {item['id']} is there twice")
            names.add(item["id"])
            if numbers.get(item["device"], 0) >= item["cseq"]:
                self.fault(f"the log of {room}: {item['cseq']} of {item['device']} stands behind {numbers[item['device']]}")
            numbers[item["device"]] = item["cseq"]
            if log.items.setdefault(item["seq"], key(item)) != key(item):
                self.fault(f"the log of {room}: {item['seq']} of {epoch} was given out twice")
        if log.items and max(log.items) > base - 1 + len(items):
            self.fault(f"the log of {room}: epoch {epoch} went back from {max(log.items)} to {base - 1 + len(items)}")
        log.names |= names

    def judge(self):
        """The violations, after all events."""
        self.faults += self.unsent
        for (room, epoch, seq), sights in self.seen.items():
            if len(sights) > 1 and (room, epoch) not in self.unseen:
                self.fault(f"{room}: at {seq} of {epoch} there are {len(sights)} entries: {sights}")
            for what, who in sights.items():
                self.sight(room, epoch, seq, what, who)
        for room, logs in self.logs.items():
            for log in self.older[room] + list(logs.values()):
                for seq, (name, _, _, digest) in log.items.items():
                    if self.submitted.get((room, name)) != digest:
                        self.fault(f"the log of {room}: at {seq} is {name}, which was not submitted, or not so")
        for who, room, name, epoch, seq in self.acked:
            self.ack(who, room, name, epoch, seq)
        for who, outcomes in self.outcomes.items():
            for (room, name), outcome in outcomes.items():
                if "acked" not in outcome and "may be anywhere" not in outcome:
                    self.end_of(who, room, name, outcome)
        for (who, room), copy in self.copies.items():
            log = self.last.get(room)
            if log is None or copy.stored is None:
                continue
            if self.logs[room].get(copy.epoch) is not log or copy.seq != max(log.items, default=copy.seq):
                self.fault(f"{who} in {room}: ends at {copy.seq} of {copy.epoch}, and not where the log ends")
            for seq, what in copy.stored.items():
                if seq >= log.base and log.items.get(seq) != what:
                    self.fault(f"{who} in {room}: has {what} at {seq}, and the log has {log.items.get(seq)}")
        return self.faults

    def sight(self, room, epoch, seq, what, who):
        logs = self.logs_of(room, epoch)
        if not logs:
            if not self.was_rewound:
                self.fault(f"{room}: {who} saw {seq} of {epoch}, which the hub does not have")
        elif not any(seq < log.base or log.items.get(seq) == what for log in logs):
            self.fault(f"{room}: at {seq} {who} saw {what}, and the log has {[log.items.get(seq) for log in logs]}")

    def ack(self, who, room, name, epoch, seq):
        logs = self.logs_of(room, epoch)
        if not logs:
            if not self.was_rewound:
                self.fault(f"{who} in {room}: {name} was acked in {epoch}, which the hub does not have")
        elif seq == 0:
            if not any(log.base > 1 or name in log.names for log in logs):
                self.fault(f"{who} in {room}: {name} was acked, and the log never had it")
        elif not any(seq < log.base or log.items.get(seq, [None])[0] == name for log in logs):
            self.fault(f"{who} in {room}: {name} was acked at {seq}, and there is {[log.items.get(seq) for log in logs]}")

    def end_of(self, who, room, name, outcome):
        """A message without an ack has failed, or its program ended before the answer."""
        is_there = any(name in log.names for log in self.older[room] + list(self.logs[room].values()))
        if "failed" in outcome:
            # If neither side lost data the outcome is always known.
            if outcome["failed"].get("isUncertain") and not (self.was_restored or self.was_rewound or "given up" in outcome):
                self.fault(f"{who} in {room}: nobody knows what became of {name}")
            elif is_there and (not outcome["failed"].get("isUncertain") or "given up" in outcome):
                self.fault(f"{who} in {room}: {name} failed, and is in the log")
        elif "queued" in outcome and not is_there and "discarded" not in outcome:
            self.fault(f"{who} in {room}: {name} was queued, is not in the log, and nothing was said of it")


def verdict(events):
    checker = Checker()
    for event in events:
        checker.take(event)
    return checker, checker.judge()


def self_test():
    """A run of two clients and a hub, then the same run with one violation each."""
    def item(seq, device="d1", cseq=None, name=None, content=None):
        return {"seq": seq, "id": name or f"m{seq}", "device": device, "cseq": cseq or seq, "digest": content or f"x{seq}"}

    def good():
        a, b, hub = {"who": "a", "room": "r"}, {"who": "b", "room": "r"}, {"who": "hub", "room": "r"}
        log = [item(1), item(2), item(3)]
        sent = [a | {"what": what} | fields for seq in (1, 2, 3) for what, fields in (
            ("submitted", {"id": f"m{seq}", "digest": f"x{seq}"}), ("queued", {"id": f"m{seq}"}),
            ("acked", {"id": f"m{seq}", "epoch": "e", "seq": seq}))]
        failed = [a | {"what": "submitted", "id": "m4", "digest": "x4"}, a | {"what": "queued", "id": "m4"},
                  a | {"what": "failed", "id": "m4", "isUncertain": False}]
        return {
            "sent": sent, "failed": failed,
            "first": [b | {"what": "replaced", "epoch": "e", "seq": 1, "items": log[:1]}],
            "second": [b | {"what": "applied", "epoch": "e", "items": log[1:2]}], "third": [b | {"what": "applied", "epoch": "e", "items": log[2:]}],
            "store": [b | {"what": "store", "epoch": "e", "seq": 3, "items": log}, b | {"what": "outbox", "names": []}],
            "log": [hub | {"what": "log", "epoch": "e", "seq": 1, "items": log}]}

    def unseen():
        """The log was rewound to 2, got another 3, and then, by a proof, another epoch. The outcome of m3 is unknown."""
        run, hub, a, b = good(), {"who": "hub", "room": "r"}, {"who": "a", "room": "r"}, {"who": "b", "room": "r"}
        other, last = item(3, device="d2", name="m8"), item(4, device="d2", name="m9")
        now = run["log"][0]["items"][:2] + [other, last]
        return run | {
            "back": [hub | {"what": "rewound", "epoch": "e"}, hub | {"what": "log", "epoch": "f", "seq": 1, "items": now}],
            "more": [a | {"what": "submitted", "id": "m8", "digest": "x3"}, a | {"what": "acked", "id": "m8", "epoch": "e", "seq": 3},
                     a | {"what": "submitted", "id": "m9", "digest": "x4"}, a | {"what": "acked", "id": "m9", "epoch": "f", "seq": 4}],
            "store": [b | {"what": "replaced", "epoch": "f", "seq": 4, "items": now},
                      b | {"what": "store", "epoch": "f", "seq": 4, "items": now}, b | {"what": "outbox", "names": []}]}

    def broken(part, **changes):
        run = good()
        run[part] = [run[part][0] | changes] + run[part][1:]
        return run

    a, b = {"who": "a", "room": "r"}, {"who": "b", "room": "r"}
    cases = {
        "an ack that the log does not have": good() | {"log": [{"who": "hub", "room": "r", "what": "log", "epoch": "e", "seq": 1,
                                                              "items": [item(1), item(2)]}]},
        "a message twice": broken("log", items=[item(1), item(2), item(3), item(4, name="m1", content="x1")]),
        "an order broken": broken("log", items=[item(1, cseq=2), item(2, cseq=1), item(3)]),
        "a gap in the log": broken("log", items=[item(1), item(3)]),
        "something that nobody submitted": broken("log", items=[item(1), item(2), item(3), item(4, name="z")]),
        "other bytes": broken("log", items=[item(1), item(2, content="y"), item(3)]),
        "another epoch at the end": broken("log", epoch="f"),
        "a failed message in the log": good() | {"failed": [a | {"what": "failed", "id": "m5", "isUncertain": False}], "sent": [
            event for event in good()["sent"] if event["id"] != "m3"] + [
            a | {"what": "submitted", "id": "m3", "digest": "x3"}, a | {"what": "failed", "id": "m3", "isUncertain": False}]},
        "a message that is lost": good() | {"failed": good()["failed"][:2]},
        "an unknown outcome": good() | {"failed": good()["failed"][:2] + [a | {"what": "failed", "id": "m4", "isUncertain": True}]},
        "a message in the log that had failed, and of which nobody knows then": good() | {"failed": [], "sent": [
            event for event in good()["sent"] if event["id"] != "m3"] + [a | {"what": "submitted", "id": "m3", "digest": "x3"}] + [
            a | {"what": "failed", "id": "m3", "isUncertain": isUncertain} for isUncertain in (False, True)]},
        "an ack taken back": good() | {"failed": [a | {"what": "failed", "id": "m3", "isUncertain": False}]},
        "a gap in what was applied": good() | {"second": []},
        "an entry applied twice": good() | {"third": good()["second"] + good()["third"]},
        "an epoch changed without a word": broken("third", epoch="f"),
        "a snapshot that goes back": good() | {"third": [b | {"what": "replaced", "epoch": "e", "seq": 1, "items": [item(1)]}]},
        "other bytes seen": broken("second", items=[item(2, content="y")]),
        "a store that has less": broken("store", items=[item(2), item(3)]),
        "a store that stands elsewhere": broken("store", seq=2, items=[item(1), item(2)]),
        "a client that never got it all": {key: part for key, part in good().items() if key != "third"} | {
            "store": [b | {"what": "store", "epoch": "e", "seq": 2, "items": [item(1), item(2)]}]},
        "a store behind what was told": good() | {"store": [b | {"what": "started"}, b | {"what": "opened", "epoch": "e", "seq": 2}]},
        "a log put back that says nothing": good() | {"log": good()["log"] + [good()["log"][0] | {"items": [item(1), item(2)]}]},
        "a number given out twice": good() | {"log": [good()["log"][0] | {"items": [item(1), item(2), item(3, name="m9", content="x9")]}]
                                              + good()["log"], "more": [a | {"what": "submitted", "id": "m9", "digest": "x9"}]},
        "a log that went back, and nobody noticed": unseen() | {
            "back": unseen()["back"][:1] + [unseen()["back"][1] | {"epoch": "e"}], "more": unseen()["more"][:2] + [
                unseen()["more"][2], unseen()["more"][3] | {"epoch": "e"}],
            "store": [{"who": "b", "room": "r", "what": "applied", "epoch": "e", "items": [item(4, device="d2", name="m9")]},
                      {"who": "b", "room": "r", "what": "store", "epoch": "e", "seq": 4, "items": good()["log"][0]["items"] + [
                          item(4, device="d2", name="m9")]}, unseen()["store"][-1]]},
        "an ack that no log has, though one went back": unseen() | {"more": unseen()["more"] + [
            {"who": "a", "room": "r", "what": "submitted", "id": "m7", "digest": "x7"},
            {"who": "a", "room": "r", "what": "acked", "id": "m7", "epoch": "e", "seq": 3}]},
        "an outbox that is not empty": good() | {"store": good()["store"][:1] + [b | {"what": "outbox", "names": ["m9"]}]},
    }
    def flat(run):
        return [event for part in run.values() for event in part]

    missed = [name for name, run in cases.items() if not verdict(flat(run))[1]]
    given_up = good() | {"failed": good()["failed"] + [a | {"what": "failed", "id": "m4", "isUncertain": True}]}
    faults = [fault for run in (good(), unseen(), given_up) for fault in verdict(flat(run))[1]]
    for name in missed:
        print(f"not ok it did not see {name}")
    for fault in faults:
        print(f"not ok in a good history it saw: {fault}")
    print(f"# {len(cases) - len(missed)} of {len(cases)} broken histories were seen")
    return not missed and not faults


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    checker, faults = verdict(event for path in sys.argv[1:] for event in lines_of(path))
    for fault in faults[:50]:
        print(f"broken: {fault}")
    looked = ", ".join(f"{count} {what}" for what, count in sorted(checker.looked.items()))
    print(f"{len(faults)} broken; {looked} of {len(checker.copies)} copies")
    return not faults


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
