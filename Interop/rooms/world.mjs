// A small world for the page's client: a model of a hub, links, crashes and a clock, all random from one seed.

import { pathToFileURL } from "node:url";

// PAGE in the environment: another folder with the page, such as one with a bug.
const own = new URL("../../Sources/Server/HoldfastHub/Page/", import.meta.url);
const page = process.env.PAGE === undefined ? own : pathToFileURL(`${process.env.PAGE}/`);
export const { RoomsClient, OutboxError, failures } = await import(new URL("rooms.mjs", page));
export const { MemoryBackend, StaleError, Store } = await import(new URL("store.mjs", page));
export const { Conversation } = await import(new URL("conversation.mjs", page));
export const { subjectOf } = await import(new URL("identity.mjs", page));
export const { empty } = await import(new URL("tabs.mjs", page));
export const { shownName } = await import(new URL("messages.mjs", page));

/** Random numbers from 0 to below 1, the same for the same seed. */
export function chance(seed) {
    let state = (seed * 7_919 + 12_345) % 2_147_483_647;
    return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** Runs everything that is ready. */
export const settle = () => new Promise((done) => setImmediate(done));

export class Clock {
    milliseconds = 1_700_000_000_000;
    #timers = new Set();

    /** The clock of a program that may die. */
    for(program) {
        return {
            now: () => this.milliseconds,
            after: (wait, work) => {
                const timer = { at: this.milliseconds + wait, work: () => program.isDead || work() };
                this.#timers.add(timer);
                return () => this.#timers.delete(timer);
            },
        };
    }

    async advance(milliseconds) {
        const end = this.milliseconds + milliseconds;
        for (;;) {
            const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
            if (due === undefined) break;
            this.#timers.delete(due);
            this.milliseconds = Math.max(this.milliseconds, due.at);
            due.work();
            await settle();
        }
        this.milliseconds = end;
    }
}

/** A WebSocket whose other end is the hub. Frames in flight wait in two queues. */
export class Link {
    readyState = 0;
    up = [];
    down = [];
    /** All frames that were sent to the hub. */
    sent = [];

    constructor(hub) {
        this.hub = hub;
        hub.links.add(this);
    }

    send(text) {
        this.sent.push(JSON.parse(text));
        this.up.push(JSON.parse(text));
    }

    close() {
        this.readyState = 3;
        this.hub.drop(this);
    }

    open() {
        this.readyState = 1;
        this.onopen?.();
    }

    /** The network cuts it, and both ends notice. */
    cut(code = 1006) {
        if (this.readyState === 3) return;
        this.readyState = 3;
        this.hub.drop(this);
        this.onclose?.({ code, reason: "" });
    }

    say(frame) {
        this.down.push(frame);
    }

    deliverUp() {
        const frame = this.up.shift();
        if (frame !== undefined) this.hub.heard(this, frame);
    }

    deliverDown() {
        const frame = this.down.shift();
        if (frame !== undefined && this.readyState === 1) this.onmessage?.({ data: JSON.stringify(frame) });
    }
}

/** A hub as in docs/rooms-protocol.md, without presence. All users have the same rights. */
export class ModelHub {
    links = new Set();
    rooms = new Map();
    isUp = true;
    counts = { dup: 0, hole: 0, snapshot: 0, refused: 0, proved: 0 };
    limits = { frame: 1 << 20, body: 65_536, roomWindow: 4, window: 6, rooms: 100, page: 5 };
    #epochs = 0;
    /** Whether its key differs from the key of the proofs. */
    forgetsProofs = false;
    /** The rights of every user, as in states. */
    rights = "rwp";
    /** The delay of its clock in milliseconds. */
    behind = 0;

    constructor(clock, random) {
        [this.clock, this.random] = [clock, random];
    }

    room(name) {
        if (!this.rooms.has(name)) {
            this.rooms.set(name, { epoch: this.#epoch(), entries: [], base: 1, marks: new Map(), pending: [], members: new Map() });
        }
        return this.rooms.get(name);
    }

    /** Rooms and devices that another user has used. */
    foreign = new Set();
    /** The lifetime of tokens. With 0 they do not end. */
    tokenLife = 0;

    get #expires() {
        return this.tokenLife && this.clock.milliseconds + this.tokenLife;
    }

    #epoch() {
        return (++this.#epochs).toString(16).padStart(16, "0");
    }

    drop(link) {
        this.links.delete(link);
        for (const room of this.rooms.values()) room.members.delete(link);
    }

    /** Drops everything that was not on disk. */
    kill() {
        for (const room of this.rooms.values()) room.pending = [];
        for (const link of [...this.links]) link.cut();
    }

    /** The log loses its last entries. It gets another epoch, unless the rewind is not detected. */
    rewind(name, count, isUnseen = false) {
        this.kill();
        const room = this.room(name);
        const lost = room.entries.splice(Math.max(room.base - 1, room.entries.length - count));
        if (!isUnseen) room.epoch = this.#epoch();
        for (const { device, before } of lost.reverse()) room.marks.set(device, before);
        return lost.length;
    }

    heard(link, frame) {
        if (frame.t === "hello") return this.#hello(link, frame);
        if (link.device === undefined) return link.cut(4100);
        const room = frame.room === undefined ? undefined : this.room(frame.room);
        switch (frame.t) {
            case "join": return this.#join(link, frame);
            case "leave": return room.members.delete(link);
            case "pub": return this.#publish(link, room, frame);
            case "pres": case "typ": case "read": case "sig": return this.#hear(link, frame);
            case "hist": return this.#history(link, room, frame);
            case "auth": return link.say({ t: "renewed", expires: this.#expires });
            case "ping": return link.say({ t: "pong", n: frame.n, now: this.clock.milliseconds - this.behind });
        }
    }

    #hello(link, { device, joins, token }) {
        if (this.badRoom !== undefined && joins.some(({ room }) => room === this.badRoom)) return link.cut();
        for (const other of this.links) if (other !== link && other.device === device) other.cut(4000);
        [link.device, link.user] = [device, token.slice(4)];
        const now = this.clock.milliseconds - this.behind;
        const window = 90 * 86_400_000;
        link.say({ t: "welcome", v: 1, conn: "c", user: link.user, now, expires: this.#expires, window, limits: this.limits });
        for (const join of joins) this.#join(link, join);
    }

    /** The proof of a position, in a form that only this hub reads. */
    #proof({ epoch, entries }, seq) {
        return seq > 0 && seq <= entries.length ? `${epoch}.${seq}.${entries[seq - 1].entry.id}.${entries[seq - 1].entry.at}` : undefined;
    }

    #join(link, { room: name, epoch, seq = 0, limit, proof }) {
        if (this.rights === "") return link.say({ t: "error", code: 3001, retry: "never", room: name, text: "no rights in this room" });
        if (name === this.badRoom) return link.cut();
        if (this.foreign.has(`${name} ${link.device}`)) return link.say({ t: "error", code: 2003, retry: "never", room: name });
        if (this.crowded === name) return link.say({ t: "error", code: 4003, retry: "never", room: name, text: "too many rooms" });
        if (this.random() < (this.refusals ?? 0)) return link.say({ t: "error", code: 5002, retry: "after", after: 300, room: name });
        const room = this.room(name);
        const head = room.entries.length;
        const isProved = epoch === room.epoch && proof?.startsWith(`${epoch}.${seq}.`);
        if (isProved && !this.forgetsProofs && (seq > head || (seq >= room.base - 1 && proof !== this.#proof(room, seq)))) {
            room.epoch = this.#epoch();
            this.counts.proved++;
            for (const member of room.members.keys()) member.say({ t: "lag", room: name, head });
            room.members.clear();
        }
        const isResumed = epoch === room.epoch && room.base - 1 <= seq && seq <= head && head - seq <= limit;
        const wanted = epoch === undefined ? -seq : limit;
        const start = isResumed ? seq : Math.max(room.base - 1, head - Math.min(wanted, this.limits.page));
        const items = room.entries.slice(start, start + this.limits.page).map(({ entry }) => entry);
        const more = isResumed && start + items.length < head;
        if (!isResumed) this.counts.snapshot++;
        const { cseq: high = 0, id: highId } = room.marks.get(link.device) ?? {};
        link.say({
            t: "state", room: name, epoch: room.epoch, from: start + 1, to: start + items.length, head, base: room.base, items, high,
            highId, rights: this.rights, proof: this.#proof(room, start + items.length), ...(!isResumed && { snapshot: true }), ...(more && { more }),
        });
        if (more) room.members.delete(link);
        else room.members.set(link, { asked: 0 });
        link.joined = (link.joined ?? new Set()).add(name);
    }

    #publish(link, room, frame) {
        const { cseq, id } = frame;
        if (!link.joined?.has(frame.room)) return link.say({ t: "error", code: 1004, retry: "now", room: frame.room, cseq });
        const pending = room.pending.filter(({ device }) => device === link.device);
        const high = pending.at(-1)?.cseq ?? room.marks.get(link.device)?.cseq ?? 0;
        if (cseq <= high) {
            // The message is being written. A repeated publication gets the ack too.
            const underWay = pending.find((publication) => publication.cseq === cseq);
            if (underWay !== undefined) return underWay.links.add(link);
            this.counts.dup++;
            const known = room.entries.find(({ entry, device }) => device === link.device && entry.cseq === cseq)?.entry;
            const isKnown = known !== undefined && known.seq >= room.base;
            return this.#ack(link, frame.room, room, { cseq, dup: true, ...(isKnown && { seq: known.seq, at: known.at, id: known.id }) });
        }
        if (cseq > high + 1) {
            if (link.hole !== high + 1) this.counts.hole++, link.say({ t: "hole", room: frame.room, expected: (link.hole = high + 1) });
            return;
        }
        delete link.hole;
        const distance = frame.at - (this.clock.milliseconds - this.behind) - 3_600_000;
        if (distance > 0 && !frame.void) {
            return link.say({ t: "error", code: 4005, retry: "after", after: distance, room: frame.room, cseq, text: "issued in the future" });
        }
        if (frame.body?.text === "bad" && !frame.void) {
            this.counts.refused++;
            return link.say({ t: "error", code: 4002, retry: "never", room: frame.room, cseq, text: "too long" });
        }
        if (this.random() < (this.refusals ?? 0)) {
            return link.say({ t: "error", code: 4001, retry: "after", after: 500, room: frame.room, cseq });
        }
        room.pending.push({ device: link.device, user: link.user, cseq, id, frame, links: new Set([link]) });
    }

    /** Answers frames that need another right. */
    #hear(link, { t, room }) {
        const right = { pres: "p", read: "r" }[t] ?? "w";
        if (!this.rights.includes(right)) link.say({ t: "error", code: 3001, retry: "never", room, text: "no right to do that" });
    }

    #ack(link, name, room, ack) {
        if (this.links.has(link)) link.say({ t: "ack", room: name, epoch: room.epoch, acks: [ack] });
    }

    /** Writes everything that waits for the disk. */
    flush() {
        for (const [name, room] of this.rooms) {
            const items = [];
            for (const { device, user, cseq, id, frame, links } of room.pending.splice(0)) {
                const before = room.marks.get(device);
                room.marks.set(device, { cseq, id });
                const ack = { cseq, id, seq: 0 };
                if (!frame.void) {
                    const seq = room.entries.length + 1;
                    const { at: sent, type, body } = frame;
                    const entry = { seq, id, device, cseq, user, at: this.clock.milliseconds, sent, type, body };
                    room.entries.push({ entry, device, before });
                    items.push(entry);
                    Object.assign(ack, { seq, at: entry.at });
                }
                for (const link of links) this.#ack(link, name, room, ack);
            }
            if (items.length > 0) {
                const frame = { t: "msg", room: name, epoch: room.epoch, items, proof: this.#proof(room, room.entries.length) };
                for (const link of room.members.keys()) link.say(frame);
            }
        }
    }

    trim(name, count) {
        const room = this.room(name);
        room.base = Math.max(room.base, room.entries.length - count + 1);
    }

    #history(link, room, { ref, room: name, before, limit }) {
        const end = Math.min(before - 1, room.entries.length);
        const start = Math.max(room.base - 1, end - Math.min(limit, this.limits.page));
        const items = room.entries.slice(start, end).map(({ entry }) => entry);
        link.say({ t: "page", ref, room: name, epoch: room.epoch, items, base: room.base });
    }
}

/** A page that can die at any moment and restart on its store. */
export class Program {
    constructor(name, clock, hub, random, backend = new MemoryBackend()) {
        Object.assign(this, { name, clock, hub, random, backend });
        this.start();
    }

    start() {
        const life = (this.life = { isDead: false });
        this.links = [];
        this.log = [];
        this.stored = new Map();
        this.troubles ??= [];
        this.shown = new Map();
        this.token = `dev:${this.name}`;
        // A transaction of a dead page never ends.
        const mortal = {
            transaction: async (stores, isWriting, work) => {
                const value = await this.backend.transaction(stores, isWriting, async (tx) => {
                    const value = await work(tx);
                    if (life.isDead || (isWriting && this.faults > 0 && this.random() < this.faults)) throw new Error("not written");
                    return value;
                });
                await this.afterCommit?.(stores);
                return value;
            },
            close: () => {},
        };
        const client = (this.client = this.connect(new Store(mortal), life));
        client.addEventListener("stored", ({ detail }) => life.isDead || this.stored.set(detail.id, detail.seq));
        client.addEventListener("trouble", ({ detail }) => this.troubles.push(detail.text));
        client.addEventListener("replaced", ({ detail }) => this.shown.set(detail.room, [...detail.items]));
        client.addEventListener("entries", ({ detail }) => {
            this.shown.set(detail.room, [...(this.shown.get(detail.room) ?? []), ...detail.items]);
        });
        this.ready = client.start().catch(() => {});
    }

    connect(store, life = { isDead: false }) {
        return new RoomsClient({
            url: "ws://hub/rooms", token: () => this.token, store, time: this.clock.for(life), random: this.random,
            socket: () => {
                const link = new Link(this.hub);
                this.links.push(link);
                return link;
            },
        });
    }

    die() {
        this.life.isDead = true;
        for (const link of this.links) {
            link.onopen = link.onmessage = link.onclose = null;
            link.cut();
        }
    }

    get link() {
        return this.links.at(-1);
    }
}
