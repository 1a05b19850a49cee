// The messages that wait to be stored by the hub: sent within its windows, in order, until they are acked or refused for good.

import { messageID } from "./identity.mjs";
import { most, pauseOf, times } from "./policy.mjs";
import { check, failures, lengthOf, publication } from "./protocol.mjs";

/** The reason why the outbox did not accept a message: `reason` is malformed, tooLong, tooMany, storage or stopped. */
export class OutboxError extends Error {
    constructor(reason, text) {
        super(text);
        this.reason = reason;
    }
}

/** Returns the body with unpaired surrogates replaced, because the hub refuses them. JSON.stringify escapes only these as \ud…. */
function paired(body) {
    const text = JSON.stringify(body);
    if (!/\\ud[89a-f]/.test(text)) return body;
    return JSON.parse(text, (_, value) => (typeof value === "string" ? value.replace(/\p{Surrogate}/gu, "\ufffd") : value));
}

/** Runs a write, and turns the browser's storage errors into texts for people. */
async function stored(write) {
    try {
        return await write();
    } catch (error) {
        const isFull = error?.name === "QuotaExceededError";
        throw new OutboxError("storage", isFull ? "The browser's storage is full." : "The browser cannot store the message.");
    }
}

export class Outbox {
    #client;

    constructor(client) {
        this.#client = client;
    }

    // Requests of the app, one after another.

    /** Resolves when the message is on disk, with its number. */
    async send(name, { type, body = null, about, id }) {
        const { link, turns, store, time } = this.#client;
        const { body: longest = 65_536, frame = 1_048_576 } = link.welcome?.limits ?? {};
        const wrong = check(name, { type, body, about, id });
        if (wrong !== undefined) throw new OutboxError("malformed", wrong);
        body = paired(body);
        id = (id ?? messageID(time.now())).toLowerCase();
        if (lengthOf(body) > longest) throw new OutboxError("tooLong", `A message may have at most ${longest} bytes.`);
        const greatest = Number.MAX_SAFE_INTEGER;
        if (lengthOf(publication(name, { cseq: greatest, id, at: greatest, type, about, body }, greatest)) > frame) {
            throw new OutboxError("tooLong", `A message may have at most ${frame} bytes with all its fields.`);
        }
        return turns.add(async () => {
            const room = this.#client.room(name);
            if (room.outbox.length >= most.waiting) throw new OutboxError("tooMany", "Too many messages wait to be sent.");
            const message = { id, at: this.#now, type, body, ...(about && { about }) };
            const row = await stored(() => store.enqueue(name, message));
            this.#queued(room, row);
            return row;
        });
    }

    /** Sends a failed message again, under a new number. */
    retry(name, id) {
        return this.#client.turns.add(async () => {
            const row = await stored(() => this.#client.store.retry(name, id, this.#now));
            if (row === undefined) return;
            const room = this.#client.room(name);
            room.failed = room.failed.filter((message) => message.id !== id);
            this.#queued(room, row);
        });
    }

    discard(name, id) {
        return this.#client.turns.add(async () => {
            await stored(() => this.#client.store.discard(name, id));
            const room = this.#client.room(name);
            room.failed = room.failed.filter((message) => message.id !== id);
            this.#client.tell("outbox", { room: name });
        });
    }

    /** Takes over failed messages of an unused store: they are shown, retried or discarded here. */
    adopt(messages) {
        return this.#client.turns.add(async () => {
            await stored(() => this.#client.store.adopt(messages));
            for (const message of messages) {
                const room = this.#client.room(message.room);
                room.failed = [...room.failed.filter(({ id }) => id !== message.id), message];
                this.#client.tell("outbox", { room: room.name });
            }
        });
    }

    get #now() {
        return Math.max(0, Math.round(this.#client.link.hubTime));
    }

    #queued(room, row) {
        room.outbox.push(row);
        room.next = row.cseq + 1;
        this.#client.tell("outbox", { room: room.name });
        if (!room.hasState && room.rejoinAt === Infinity) this.#client.joining.begin(room);
        this.#pump(room);
    }

    // Sending.

    /** The room has its state; `isDoubtful`: the hub's answer about our numbers contradicts this store. */
    resumed(room, isDoubtful) {
        if (isDoubtful && !this.#client.renewal.isProving) return this.#client.renewal.begin();
        this.#pump(room);
        return this.#client.renewal.goOn();
    }

    /** Sends messages as far as the windows allow, oldest first. */
    #pump(room) {
        const { link, renewal, time } = this.#client;
        const now = time.now();
        if (!link.isUp || link.isEnding || !room.hasState || now < room.pausedUntil) return;
        const limits = link.welcome.limits ?? {};
        let [free, all] = [limits.roomWindow ?? 32, limits.window ?? 256];
        free -= room.inFlight;
        for (const other of this.#client.rooms.values()) all -= other.inFlight;
        // Uses the earlier clock, so that a hub with a clock that is ahead makes no message too old.
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
            // The message was accepted under other limits, or before the limits were known. Sending it would end each connection.
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
        if (hasSent) this.#client.tell("outbox", { room: room.name });
    }

    /** Runs in its own turn to the end: data that is read again after a failure must not be older than the next write. */
    #giveUp(room, cseq, failure) {
        this.#client.turns.add(() => this.#burn(room, cseq, failure).catch((error) => this.#client.storeFailed(error)));
    }

    tick(now) {
        for (const room of this.#client.rooms.values()) {
            if (room.mustResend(now, times.resend)) {
                // If repeated sending does not help, a new connection may.
                if (++room.resends > most.resends) return this.#client.link.lost();
                room.rewind();
            }
            this.#pump(room);
        }
    }

    // Answers of the hub.

    async takeAcks(room, { epoch, acks = [] }) {
        const { renewal } = this.#client;
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
                // Retention has deleted it, or its number was voided by a later state of this store, before a backup was restored.
                if (renewal.isProving) room.verdicts.set(cseq, "unknown");
                else settled.failed.push({ ...row, failure: failures.uncertain });
            } else {
                room.verdicts.set(cseq, "other");
                isForeign = true;
            }
        }
        if (settled.removed.length + settled.failed.length > 0) await this.#settle(room, settled);
        for (const news of stored) this.#client.tell("stored", news);
        if (isForeign && !renewal.isProving) return renewal.begin();
        this.progress(room);
        return renewal.goOn();
    }

    async #settle(room, { removed, failed }) {
        await this.#client.store.settle(room.name, { removed, failed });
        const gone = new Set([...removed, ...failed.map((row) => row.cseq)]);
        room.outbox = room.outbox.filter((row) => !gone.has(row.cseq));
        room.failed.push(...failed.map((row) => ({ ...row, state: "failed" })));
        this.#client.tell("outbox", { room: room.name });
        if (room.outbox.length === 0 && !room.isWanted && room.hasState) {
            this.#client.link.say({ t: "leave", room: room.name });
            room.disconnected();
        }
    }

    /** A message of the room is stored, so the windows have room again. */
    progress(room) {
        room.waitingSince = this.#client.time.now();
        room.resends = 0;
        for (const other of this.#client.rooms.values()) this.#pump(other);
    }

    /**
     * The hub expects the numbers from the oldest waiting message. If it expects an earlier number, which was already acked, its log was
     * rewound.
     */
    async takeHole(room, { expected }) {
        const oldest = room.outbox[0]?.cseq;
        if (!Number.isSafeInteger(expected) || oldest === undefined) return;
        if (expected < oldest) return this.#client.renewal.begin();
        room.rewind();
        this.#pump(room);
    }

    /** The hub has refused a message. */
    async refused(room, refusal) {
        const { link, renewal, time } = this.#client;
        const { cseq, retry, code } = refusal;
        if (!room.outbox.some((row) => row.cseq === cseq)) return;
        if (retry === "reconnect") return link.refused(refusal);
        if (retry === "never" && renewal.isProving) {
            room.verdicts.set(cseq, "unknown");
            return renewal.goOn();
        }
        // A message that is being voided may have been sent several times, so only an ack ends it.
        if (retry === "never") return this.#burn(room, cseq, { code, text: refusal.text || `The hub refused it (${code}).` });
        if (retry === "after" || retry === "now") {
            // The hub's clock has changed (4005): the next pong reports it.
            const pause = code === 4005 ? Math.min(pauseOf(refusal), times.resend) : pauseOf(refusal);
            room.pausedUntil = time.now() + pause;
            time.after(pause, () => this.#pump(room));
        }
        room.sentUpTo = Math.min(room.sentUpTo, cseq - 1);
    }

    /** Sends the number of the message without its content, so that the next messages are accepted. */
    async #burn(room, cseq, failure) {
        const index = room.outbox.findIndex((row) => row.cseq === cseq && row.state === "queued");
        if (index < 0) return;
        const row = { ...room.outbox[index], state: "burning", failure };
        await this.#client.store.settle(room.name, { changed: [row] });
        room.outbox[index] = row;
        room.sentUpTo = Math.min(room.sentUpTo, cseq - 1);
        this.#client.tell("outbox", { room: room.name });
        this.#pump(room);
    }
}
