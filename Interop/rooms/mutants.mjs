#!/usr/bin/env node
// Puts each bug into a copy of the page's client. units.mjs must detect it. Prints `ok NAME` or `not ok NAME: why`.
//
//   mutants.mjs [TEXT]    only bugs with TEXT in their name

import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const page = path.join(here, "../../Sources/Server/HoldfastHub/Page");
/** The number of simulated worlds for each bug, after the single rules. */
const worlds = 20;

/**
 * By file: the effect of the bug, and its place. `⟦this→that⟧` replaces this with that. The context must occur exactly once, and any
 * white space matches any other.
 */
const mutants = {
    "entries.mjs": {
        "an entry is taken twice": "⟦if (item.seq <= room.seq + fresh.length) continue;→⟧",
        "a gap is not seen": "if (⟦item.seq !== room.seq + fresh.length + 1→false⟧) {",
        "another epoch is not seen": "⟦if (epoch !== room.epoch) return joining.again(room);→⟧",
        "an entry proves nothing": "await store.append(room.name, epoch, fresh, ⟦proved→[]⟧, shown); room.appended(fresh, shown); this",
        "a proof is not stored": "await store.append(room.name, epoch, fresh, proved⟦, shown→⟧); room.appended(fresh, shown); this",
        "the proof of the entry before is kept": "room.appended(fresh⟦, shown→, room.proof⟧); this",
    },
    "outbox.mjs": {
        "an ack without a place counts as stored": "else if (id === row.id⟦ && seq > 0→⟧) {",
        "an ack of another message counts as ours": "else if (⟦id === row.id && →⟧seq > 0) {",
        "a hub that stops gets new messages": "⟦link.isEnding || →⟧!room.hasState",
        "messages go before the room's state": "link.isEnding⟦ || !room.hasState→⟧",
        "the window is not kept": "⟦if (free <= 0 || all <= 0) break;→⟧",
        "a message that waited too long is sent": '⟦row.state === "queued" && row.at < oldest && row.cseq > room.high→false⟧',
        "a restored store sends messages, not questions": '⟦renewal.isProving && row.state === "queued" && row.cseq > room.high→false⟧',
        "a restored store asks about messages that the hub cannot have": "⟦if (renewal.isProving && !room.mustProve(row)) break;→⟧",
        "a page of missed entries sends all messages again": "⟦→room.rewind(); ⟧this.#pump(room); return this.#client.renewal.goOn();",
        "a hole is not filled": "⟦room.rewind(); this.#pump(room);→⟧ }",
        "a rewound log is not seen by its hole": "⟦if (expected < oldest) return this.#client.renewal.begin();→⟧",
        "a message is not sent again after silence": "if (⟦room.mustResend(now, times.resend)→false⟧) {",
        "an unreadable message is queued": '⟦if (wrong !== undefined) throw new OutboxError("malformed", wrong);→⟧',
        "a message above the frame limit is sent": '⟦row.state === "queued" && lengthOf(frame) > (limits.frame ?? 1_048_576)→false⟧',
        "what is given up is read again beside what is queued":
            "this.#burn(room, cseq, failure)⟦→)⟧.catch((error) => this.#client.storeFailed(error))⟦)→⟧;",
    },
    "protocol.mjs": {
        "a voided number keeps its message": '⟦if (row.state === "burning") return { t: "pub", room, cseq, id, void: true };→⟧',
    },
    "room.mjs": {
        "a backup is not seen": "if (⟦high >= this.next || →⟧(row",
        "a proof is not shown": "return { room: this.name, ...cursor, ⟦...shown, →⟧...wishes",
        "a rewound log is not seen": "return ⟦(this.outbox[0]?.cseq ?? this.next) > this.high + 1→false⟧;",
    },
    "store.mjs": {
        "a number is given out twice":
            '⟦await tx.put("rooms", room, { ...record, next: record.next + 1 }); →⟧return row; }); } /** * Writes entries after',
        "what entries prove stays in the outbox":
            '⟦for (const cseq of proved) await tx.delete("outbox", [room, cseq]); →⟧await tx.put("rooms", room, '
                + '{ ...record, seq, first, proof });',
        "the cursor is not stored": 'await tx.put("rooms", room, { ...record, ⟦seq, →⟧first, proof });',
        "the read marker stays after its entries are gone": "record.epoch === epoch⟦ && seq >= record.seq→⟧ ? record.read",
        "a renewed store keeps its device": '⟦await tx.put("meta", "device", hexadecimal(16)); →⟧const next',
    },
    "turns.mjs": {
        "frames of an earlier link count": "else ⟦if (connection === this.#client.link.connection) →⟧await",
    },
    "rooms.mjs": {
        "hello does not wait for what is written":
            "⟦this.turns.add(() => {→⟧ if (connection === this.link.connection) this.link.greet(this.device, "
                + "this.joining.greeting()); ⟦});→⟧",
    },
    "joining.mjs": {
        "a bad room blocks all others": "this.#oneByOne = ⟦this.#failed >= most.resumes→false⟧;",
        "a refused frame ends the room": "if (⟦refusal.code === codes.rights && !room.isJoining→false⟧) {",
        "a room that costs the connection is forgotten with the next state": "⟦if (!this.#oneByOne || isLast) →⟧this.#failed = 0;",
        "a device of another user is kept": "⟦ return renewal.begin();→⟧",
        "a hub that refuses every device is asked forever": "⟦ && this.#foreignDevices < most.foreignDevices→⟧;",
    },
    "people.mjs": {
        "a client without the presence right sends presence": 'room.wantsPresence⟦ && room.may("p")→⟧) this.#client.link.say({ t: "pres"',
    },
    "renewal.mjs": {
        "a message that was never accepted counts as uncertain": "⟦ && !isForeign(room)→⟧) ||",
    },
    "link.mjs": {
        "an expired token is retried forever": '⟦if (isExpired && token === this.#token) return this.#stop("refused");→⟧',
        "no new token is requested": "⟦if (now >= this.#renewAt) this.renewToken();→⟧",
        "a hub that drops after the welcome is retried without backoff": "⟦if (now - this.#upSince >= times.steady) →⟧this.#failures = 0;",
        "a replaced client reconnects": '⟦if (code === closings.replaced) return this.#stop("replaced");→⟧',
        "a silent hub is not given up": "⟦(this.isUp && isSilent)→false⟧",
        "a stopping hub is retried too early": "⟦Math.max(→⟧backoff(this.#failures++, this.#client.random)⟦, this.#notBefore - now)→⟧",
    },
    "history.mjs": {
        "an old page of history is taken for this epoch's":
            '⟦if (epoch !== room.epoch) return this.#end(ref, new Error("The room has a new log."));→⟧',
    },
    "conversation.mjs": {
        "an entry of another user with our id counts as ours": "⟦if (user !== this.#user) return;→⟧",
    },
    "timeline.mjs": {
        "trimming also removes later edits": "⟦if (seq < first) →⟧notes.delete(seq);",
    },
    "tabs.mjs": {
        "failed messages of a closed tab are dropped": "⟦if (left.failed.length > 0) await adopt(left.failed);→⟧",
    },
};

/** A file's text with the bug. Throws if the context no longer matches, so the list must be updated. */
function broken(text, bug) {
    const marks = /⟦(.*?)→(.*?)⟧/g;
    const words = bug.replace(marks, "$1").trim().split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const parts = text.split(new RegExp(words.join("\\s+")));
    if (parts.length !== 2) throw new Error(`what it changes stands there ${parts.length - 1} times`);
    return parts.join(bug.replace(marks, "$2"));
}

/** The time limit of the checks, a multiple of the time for the unchanged page. Some bugs hang. */
let patience = 600_000;

/** The first check that fails, or null if all pass. */
function judged(folder) {
    return new Promise((done) => {
        const child = spawn(process.execPath, [path.join(here, "units.mjs")], {
            env: { ...process.env, PAGE: folder, RUNS: worlds, STOP: "1" }, stdio: ["ignore", "pipe", "ignore"], timeout: patience,
        });
        let output = "";
        child.stdout.on("data", (data) => (output += data));
        child.on("close", (code) => done(output.match(/^not ok .*/m)?.[0] ?? (code === 0 ? null : `ended with ${code ?? "no verdict in time"}`)));
    });
}

let failed = false;
function report(name, why) {
    failed ||= why !== null;
    console.log(why === null ? `ok seen: ${name}` : `not ok seen: ${name}: ${why}`);
}

const work = mkdtempSync(path.join(tmpdir(), "page-mutants-"));
const left = Object.entries(mutants)
    .flatMap(([file, bugs]) => Object.entries(bugs).map(([name, bug]) => ({ name, file, bug })))
    .filter(({ name }) => name.includes(process.argv[2] ?? ""));
async function tryThem(number) {
    const folder = path.join(work, `${number}`);
    cpSync(page, folder, { recursive: true });
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const place = path.join(folder, next.file);
        const text = readFileSync(place, "utf8");
        try {
            writeFileSync(place, broken(text, next.bug));
            report(next.name, (await judged(folder)) === null ? "all checks hold" : null);
        } catch (error) {
            report(next.name, error.message);
        }
        writeFileSync(place, text);
    }
}
const start = performance.now();
const fault = await judged(page);
failed = fault !== null;
console.log(failed ? `not ok the page as it is: ${fault}` : "ok the page as it is");
patience = Math.max(120_000, Math.ceil(20 * (performance.now() - start)));
await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, (_, number) => tryThem(number)));
rmSync(work, { recursive: true });
process.exitCode = failed ? 1 : 0;
