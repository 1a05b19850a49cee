// What waits to be stored by the hub: sent within its windows, in the order of the numbers, until it is acked or refused for good.

import { messageID } from "./identity.mjs";
import { most, pauseOf, times } from "./policy.mjs";
import { check, failures, lengthOf, publication } from "./protocol.mjs";

/** Why a message was not taken into the outbox: `reason` is malformed, tooLong, tooMany, storage or stopped. */
export class OutboxError extends Error {
    constructor(reason, text) {
        super(text);
        this.reason = reason;
    }
}

/** The body with each half of a pair of surrogates replaced: the hub refuses those. JSON.stringify leaves nothing else as such an escape. */
function paired(body) {
    const text = JSON.stringify(body);
    if (!/\\ud[89a-f]/.test(text)) return body;
    return JSON.parse(text, (_, value) => (typeof value === "string" ? value.replace(/\p{Surrogate}/gu, "\ufffd") : value));
}

/** What a browser says of its storage, in words for people. */
async function stored(write) {
    try {
        return await write();
    } catch (error) {
        const isFull = error?.name === "QuotaExceededError";
        throw new OutboxError("storage", isFull ? "The browser's storage is full." : "The browser cannot store the message.");
    }
}

export class Outbox {
    #desk;

    constructor(desk) {
        this.#desk = desk;
    }

    // What the app asks for, each in its turn.

    /** On disk, with its number, when the promise is kept. */
    async send(name, { type, body = null, about, id }) {
        const { link, turns, store, time } = this.#desk;
        const { body: longest = 65_536, frame = 1_048_576 } = link.welcome?.limits ?? {};
        const wrong = check(name, { type, body, about, id });
        if (wrong !== undefined) throw new OutboxError("malformed", wrong);
        body = paired(body);
        id = (id ?? messageID(time.now())).toLowerCase();
        if (lengthOf(body) > longest) throw new OutboxError("tooLong", `A message may have ${longest} bytes.`);
        const greatest = Number.MAX_SAFE_INTEGER;
        if (lengthOf(publication(name, { cseq: greatest, id, at: greatest, type, about, body }, greatest)) > frame) {
            throw new OutboxError("tooLong", `A message may have ${frame} bytes with all that belongs to it.`);
        }
        return turns.add(async () => {
            const room = this.#desk.room(name);
            if (room.outbox.length >= most.waiting) throw new OutboxError("tooMany", "Too many messages wait to be sent.");
            const message = { id, at: this.#now, type, body, ...(about && { about }) };
            const row = await stored(() => store.enqueue(name, message));
            this.#queued(room, row);
            return row;
        });
    }

    /** A failed message is sent after all, under a new number. */
    retry(name, id) {
        return this.#desk.turns.add(async () => {
            const row = await stored(() => this.#desk.store.retry(name, id, this.#now));
            if (row === undefined) return;
            const room = this.#desk.room(name);
            room.failed = room.failed.filter((message) => message.id !== id);
            this.#queued(room, row);
        });
    }

    discard(name, id) {
        return this.#desk.turns.add(async () => {
            await stored(() => this.#desk.store.discard(name, id));
            const room = this.#desk.room(name);
            room.failed = room.failed.filter((message) => message.id !== id);
            this.#desk.tell("outbox", { room: name });
        });
    }

    /** Failed messages of a store that nobody uses any more: they are shown, retried or discarded here. */
    adopt(messages) {
        return this.#desk.turns.add(async () => {
            await stored(() => this.#desk.store.adopt(messages));
            for (const message of messages) {
                const room = this.#desk.room(message.room);
                room.failed = [...room.failed.filter(({ id }) => id !== message.id), message];
                this.#desk.tell("outbox", { room: room.name });
            }
        });
    }

    get #now() {
        return Math.max(0, Math.round(this.#desk.link.hubTime));
    }

    #queued(room, row) {
        room.outbox.push(row);
        room.next = row.cseq + 1;
        this.#desk.tell("outbox", { room: room.name });
        if (!room.hasState && room.rejoinAt === Infinity) this.#desk.joining.begin(room);
        this.#pump(room);
    }

    // Sending.

    /** The room has its state; `isDoubtful`: what it says of our numbers cannot have come from this store. */
    resumed(room, isDoubtful) {
        if (isDoubtful && !this.#desk.renewal.isProving) return this.#desk.renewal.begin();
        this.#pump(room);
        return this.#desk.renewal.goOn();
    }

    /** Sends what the windows allow, oldest first. */
    #pump(room) {
        const { link, renewal, time } = this.#desk;
        const now = time.now();
        if (!link.isUp || link.isEnding || !room.hasState || now < room.pausedUntil) return;
        const limits = link.welcome.limits ?? {};
        let [free, all] = [limits.roomWindow ?? 32, limits.window ?? 256];
        free -= room.inFlight;
        for (const other of this.#desk.rooms.values()) all -= other.inFlight;
        // A hub whose date is ahead makes nothing too old.
        const oldest = Math.min(link.hubTime, now) - ((link.welcome.window || 90 * 86_400_000) - times.margin);
        let hasSent = false;
        for (const row of room.outbox) {
            if (row.cseq <= room.sentUpTo) continue;
            if (free <= 0 || all <= 0) break;
            if (renewal.isProving && !room.mustProve(row)) break;
            if (room.verdicts.has(row.cseq)) continue;
            if (row.state === "queued" && row.at < oldest && row.cseq > room.high) {
                this.#giveUp(room, row.cseq, failures.expired);
                break;
            }
            if (room.inFlight === 0) room.waitingSince = now;
            const isProbe = renewal.isProving && row.state === "queued" && row.cseq > room.high;
            const frame = isProbe ? renewal.probe(room, row) : publication(room.name, row, link.hubTime);
            // It was taken when the hub's limits were others, or not known. It would end each connection.
            if (row.state === "queued" && lengthOf(frame) > (limits.frame ?? 1_048_576)) {
                this.#giveUp(room, row.cseq, failures.tooLong);
                break;
            }
            link.say(frame);
            room.sentUpTo = row.cseq;
            free--;
            all--;
            hasSent = true;
        }
        if (hasSent) this.#desk.tell("outbox", { room: room.name });
    }

    /** In a turn of its own to the end: what is read again after a failure must not be older than what the next one writes. */
    #giveUp(room, cseq, failure) {
        this.#desk.turns.add(() => this.#burn(room, cseq, failure).catch((error) => this.#desk.storeFailed(error)));
    }

    tick(now) {
        for (const room of this.#desk.rooms.values()) {
            if (room.mustResend(now, times.resend)) {
                // What does not help again and again may help on a fresh connection.
                if (++room.resends > most.resends) return this.#desk.link.lost();
                room.rewind();
            }
            this.#pump(room);
        }
    }

    // What the hub answers.

    async takeAcks(room, { epoch, acks = [] }) {
        const { renewal } = this.#desk;
        const settled = { removed: [], failed: [] };
        const stored = [];
        let isForeign = false;
        for (const { cseq, seq = 0, at = 0, id } of acks) {
            room.noteHigh(cseq);
            const row = room.outbox.find((row) => row.cseq === cseq);
            if (row === undefined) continue;
            if (row.state === "burning" && (seq === 0 || id !== row.id)) settled.failed.push(row);
            else if (id === row.id && seq > 0) {
                settled.removed.push(cseq);
                stored.push({ room: room.name, id: row.id, seq, at, epoch, row });
            } else if (!id || id === row.id) {
                // Retention has passed it; or its number was burnt by a life of this store that came after its backup.
                if (renewal.isProving) room.verdicts.set(cseq, "unknown");
                else settled.failed.push({ ...row, failure: failures.uncertain });
            } else {
                room.verdicts.set(cseq, "other");
                isForeign = true;
            }
        }
        if (settled.removed.length + settled.failed.length > 0) await this.#settle(room, settled);
        for (const news of stored) this.#desk.tell("stored", news);
        if (isForeign && !renewal.isProving) return renewal.begin();
        this.progress(room);
        return renewal.goOn();
    }

    async #settle(room, { removed, failed }) {
        await this.#desk.store.settle(room.name, { removed, failed });
        const gone = new Set([...removed, ...failed.map((row) => row.cseq)]);
        room.outbox = room.outbox.filter((row) => !gone.has(row.cseq));
        room.failed.push(...failed.map((row) => ({ ...row, state: "failed" })));
        this.#desk.tell("outbox", { room: room.name });
        if (room.outbox.length === 0 && !room.isWanted && room.hasState) {
            this.#desk.link.say({ t: "leave", room: room.name });
            room.disconnected();
        }
    }

    /** Something of the room is stored: there is room in the windows. */
    progress(room) {
        room.waitingSince = this.#desk.time.now();
        room.resends = 0;
        for (const other of this.#desk.rooms.values()) this.#pump(other);
    }

    /** Numbers from the oldest one that waits; one below it, which was acked and is asked for again, means that the log was rewound. */
    async takeHole(room, { expected }) {
        const oldest = room.outbox[0]?.cseq;
        if (!Number.isSafeInteger(expected) || oldest === undefined) return;
        if (expected < oldest) return this.#desk.renewal.begin();
        room.rewind();
        this.#pump(room);
    }

    /** The hub has refused a message. */
    async refused(room, refusal) {
        const { link, renewal, time } = this.#desk;
        const { cseq, retry, code } = refusal;
        if (!room.outbox.some((row) => row.cseq === cseq)) return;
        if (retry === "reconnect") return link.refused(refusal);
        if (retry === "never" && renewal.isProving) {
            room.verdicts.set(cseq, "unknown");
            return renewal.goOn();
        }
        // One that is being burnt may have been sent more than once before: only an ack ends it.
        if (retry === "never") return this.#burn(room, cseq, { code, text: refusal.text || `The hub refused it (${code}).` });
        if (retry === "after" || retry === "now") {
            // The hub's clock is not what it was (4005): the next pong says what it is.
            const pause = code === 4005 ? Math.min(pauseOf(refusal), times.resend) : pauseOf(refusal);
            room.pausedUntil = time.now() + pause;
            time.after(pause, () => this.#pump(room));
        }
        room.sentUpTo = Math.min(room.sentUpTo, cseq - 1);
    }

    /** Its number is sent without it, so that the next ones are taken. */
    async #burn(room, cseq, failure) {
        const index = room.outbox.findIndex((row) => row.cseq === cseq && row.state === "queued");
        if (index < 0) return;
        const row = { ...room.outbox[index], state: "burning", failure };
        await this.#desk.store.settle(room.name, { changed: [row] });
        room.outbox[index] = row;
        room.sentUpTo = Math.min(room.sentUpTo, cseq - 1);
        this.#desk.tell("outbox", { room: room.name });
        this.#pump(room);
    }
}
