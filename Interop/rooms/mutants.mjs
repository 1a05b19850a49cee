#!/usr/bin/env node
// Puts one bug after another into a copy of the page's client: units.mjs has to see each. Prints `ok NAME` or `not ok NAME: why`.
//
//   mutants.mjs [TEXT]    only those with TEXT in their name

import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const page = path.join(here, "../../Sources/Server/HoldfastHub/Page");
/** Worlds that each bug is looked for in, after the rules one by one. */
const worlds = 20;

/** What is wrong then, the file, what stands there once, and what stands there instead. */
const mutants = [
    ["an entry is taken twice", "entries.mjs", "if (item.seq <= room.seq + fresh.length) continue;", ""],
    ["a gap is not seen", "entries.mjs", "if (item.seq !== room.seq + fresh.length + 1) {", "if (false) {"],
    ["another epoch is not seen", "entries.mjs", "if (epoch !== room.epoch) return joining.again(room);", ""],
    ["an entry proves nothing", "entries.mjs",
        "            await store.append(room.name, epoch, fresh, proved);\n            room.appended(fresh);\n            this",
        "            await store.append(room.name, epoch, fresh, []);\n            room.appended(fresh);\n            this"],
    ["an ack without a place counts as stored", "outbox.mjs", "else if (id === row.id && seq > 0) {", "else if (id === row.id) {"],
    ["an ack of another message counts as ours", "outbox.mjs", "else if (id === row.id && seq > 0) {", "else if (seq > 0) {"],
    ["a hub that stops gets new messages", "outbox.mjs", "link.isEnding || !room.hasState", "!room.hasState"],
    ["messages go before the room's state", "outbox.mjs", "link.isEnding || !room.hasState", "link.isEnding"],
    ["the window is not kept", "outbox.mjs", "if (free <= 0 || all <= 0) break;", ""],
    ["what waited too long is risked", "outbox.mjs", "row.state === \"queued\" && row.at < oldest && row.cseq > room.high", "false"],
    ["a restored store sends messages, not questions", "outbox.mjs",
        "renewal.isProving && row.state === \"queued\" && row.cseq > room.high",
        "false"],
    ["a restored store asks about what cannot be there", "outbox.mjs", "if (renewal.isProving && !room.mustProve(row)) break;", ""],
    ["a page of what was missed sends all again", "outbox.mjs",
        "        this.#pump(room);\n        return this.#desk.renewal.goOn();",
        "        room.rewind();\n        this.#pump(room);\n        return this.#desk.renewal.goOn();"],
    ["a hole is not filled", "outbox.mjs", "        room.rewind();\n        this.#pump(room);\n    }", "    }"],
    ["a rewound log is not seen by its hole", "outbox.mjs", "if (expected < oldest) return this.#desk.renewal.begin();", ""],
    ["silence is not answered by sending again", "outbox.mjs", "if (room.mustResend(now, times.resend)) {", "if (false) {"],
    ["what is given up is read again beside what is queued", "outbox.mjs",
        "this.#desk.turns.add(() => this.#burn(room, cseq, failures.expired).catch((error) => this.#desk.storeFailed(error)));",
        "this.#desk.turns.add(() => this.#burn(room, cseq, failures.expired)).catch((error) => this.#desk.storeFailed(error));"],
    ["a burnt number keeps its message", "protocol.mjs",
        "if (row.state === \"burning\") return { t: \"pub\", room, cseq, id, void: true };",
        ""],
    ["a backup is not seen", "room.mjs", "if (high >= this.next || (row", "if ((row"],
    ["a rewound log is not seen", "room.mjs", "return (this.outbox[0]?.cseq ?? this.next) > this.high + 1;", "return false;"],
    ["a number is given out twice", "store.mjs",
        "await tx.put(\"rooms\", room, { ...record, next: record.next + 1 });\n"
            + "            return row;\n"
            + "        });\n"
            + "    }\n"
            + "\n"
            + "    /** Entries",
        "return row;\n        });\n    }\n\n    /** Entries"],
    ["what entries prove stays in the outbox", "store.mjs",
        "            for (const cseq of proved) await tx.delete(\"outbox\", [room, cseq]);\n"
            + "            await tx.put(\"rooms\", room, { ...record, seq, first });",
        "            await tx.put(\"rooms\", room, { ...record, seq, first });"],
    ["the cursor is not stored", "store.mjs",
        "await tx.put(\"rooms\", room, { ...record, seq, first });",
        "await tx.put(\"rooms\", room, { ...record, first });"],
    ["a renewed store keeps its device", "store.mjs",
        "            await tx.put(\"meta\", \"device\", hexadecimal(16));\n            const next",
        "            const next"],
    ["frames of an earlier link count", "turns.mjs", "else if (connection === this.#desk.link.connection) await", "else await"],
    ["hello does not wait for what is written", "rooms.mjs",
        "        this.turns.add(() => {\n"
            + "            if (connection === this.link.connection) this.link.greet(this.device, this.joining.greeting());\n"
            + "        });",
        "        if (connection === this.link.connection) this.link.greet(this.device, this.joining.greeting());"],
    ["a bad room keeps all others out", "joining.mjs", "this.#oneByOne = this.#failed >= most.resumes;", "this.#oneByOne = false;"],
    ["a device of somebody else is kept", "joining.mjs", "            return renewal.begin();", ""],
    ["a hub that takes no device is asked for ever", "joining.mjs", " && this.#foreignDevices < most.foreignDevices;", ";"],
    ["what was never taken counts as uncertain", "renewal.mjs", " && !isForeign(room)) ||", ") ||"],
    ["a token that has ended is tried for ever", "link.mjs", "if (isExpired && token === this.#token) return this.#stop(\"refused\");", ""],
    ["no other token is asked for", "link.mjs", "if (now >= this.#renewAt) this.renewToken();", ""],
    ["a replaced client comes back", "link.mjs", "if (code === closings.replaced) return this.#stop(\"replaced\");", ""],
    ["a silent hub is waited for", "link.mjs", "(this.isUp && isSilent)", "false"],
    ["a hub that stops is asked too early", "link.mjs",
        "Math.max(backoff(this.#failures++, this.#desk.random), this.#notBefore - now)",
        "backoff(this.#failures++, this.#desk.random)"],
    ["an old page of history is taken for this epoch's", "history.mjs",
        "if (epoch !== room.epoch) return this.#end(ref, new Error(\"The room has begun anew.\"));",
        ""],
    ["anybody's id stands for our message", "conversation.mjs", "if (user !== this.#user) return;", ""],
    ["what is trimmed takes later edits with it", "timeline.mjs", "if (seq < first) notes.delete(seq);", "notes.delete(seq);"],
    ["what failed in a closed tab is dropped", "tabs.mjs", "if (left.failed.length > 0) await adopt(left.failed);", ""],
];

/** How long the checks may take: many times what they take of the page as it is, which has to pass. Some bugs hang. */
let patience = 600_000;

/** The first check that fails, or null if all hold. */
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
const left = mutants.filter(([name]) => name.includes(process.argv[2] ?? ""));
async function tryThem(number) {
    const folder = path.join(work, `${number}`);
    cpSync(page, folder, { recursive: true });
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const [name, file, good, bad] = next;
        const place = path.join(folder, file);
        const text = readFileSync(place, "utf8");
        // The code has moved on, and so must the list.
        if (text.split(good).length !== 2) {
            report(name, `what it changes stands ${text.split(good).length - 1} times in ${file}`);
            continue;
        }
        writeFileSync(place, text.replace(good, () => bad));
        report(name, (await judged(folder)) === null ? "all checks hold" : null);
        writeFileSync(place, text);
    }
}
const start = performance.now();
const fault = await judged(page);
failed = fault !== null;
console.log(failed ? `not ok the page as it is: ${fault}` : "ok the page as it is");
patience = Math.max(120_000, 20 * (performance.now() - start));
await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, (_, number) => tryThem(number)));
rmSync(work, { recursive: true });
process.exitCode = failed ? 1 : 0;
