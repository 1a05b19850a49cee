// A client of docs/rooms-protocol.md (holdfast.rooms.v1.json) with resume and a durable outbox; it depends on nothing.
//
//     const client = new RoomsClient({ url: "wss://host/rooms", token: () => "…", store: new Store(await IndexedBackend.open("me")) });
//     client.addEventListener("entries", ({ detail }) => …);
//     await client.start();
//     await client.join("abc");
//     const row = await client.send("abc", { type: "chat.text", body: { text: "hi" } });   // in the outbox, on disk
//
// Here stand its parts and what an app asks of them. Each part is a file with one idea: link.mjs (the connection), joining.mjs (which
// rooms, when), entries.mjs (the copy of a room), outbox.mjs (what waits), renewal.mjs (a restored store), history.mjs, people.mjs (what is
// not stored), turns.mjs (one change after the other), room.mjs (what is known of a room), store.mjs (what is on disk).

import { Entries } from "./entries.mjs";
import { History } from "./history.mjs";
import { Joining } from "./joining.mjs";
import { Link } from "./link.mjs";
import { Outbox, OutboxError } from "./outbox.mjs";
import { People } from "./people.mjs";
import { realTime, times } from "./policy.mjs";
import { check, failures } from "./protocol.mjs";
import { Renewal } from "./renewal.mjs";
import { Room } from "./room.mjs";
import { Turns } from "./turns.mjs";

export { failures, OutboxError };

/**
 * Events, each with what it is about in `detail`:
 * connection ({state}), room ({room}: its phase), entries ({room, items}), replaced ({room, items}), outbox ({room}),
 * stored ({room, id, seq}), members, typing, reads ({room}), signal ({room, user, conn, type, body}), trouble ({text}).
 */
export class RoomsClient extends EventTarget {
    rooms = new Map();
    #desk;
    #hasClosed = false;
    #cancelTick = () => {};

    /**
     * `token`: gives the token to say hello with, perhaps later. It is asked with `isExpired` where the last one is of no use any more, and
     * if it has no other then, no further attempt is made before `renew` or `online`.
     */
    constructor({ url, token, store, agent = "holdfast page", socket = (...words) => new WebSocket(...words), time = realTime,
        random = Math.random }) {
        super();
        const desk = (this.#desk = new Desk(this, store, time, random));
        desk.link = new Link(desk, { url, token, agent, socket });
    }

    /** Reads what is stored and connects. */
    async start() {
        await this.#desk.load();
        this.#tick();
        this.#desk.link.online();
    }

    /** offline, connecting, welcomed, lost, replaced or refused. */
    get state() {
        return this.#desk.link.state;
    }

    /** Milliseconds that a ping took, once measured. */
    get roundTrip() {
        return this.#desk.link.roundTrip;
    }

    /** The hub's answer to hello. */
    get welcome() {
        return this.#desk.link.welcome;
    }

    /** What the hub refused last as a whole. */
    get refusal() {
        return this.#desk.link.refusal;
    }

    /** When the next attempt is made, by our clock; 0: none is planned. */
    get nextAttempt() {
        return this.#desk.link.nextAttempt;
    }

    /** When the token of the present connection ends, by our clock. */
    get tokenEnds() {
        return this.#desk.link.tokenEnds;
    }

    get device() {
        return this.#desk.device;
    }

    /** Ends everything; what is in the outbox stays there. */
    async close() {
        this.#hasClosed = true;
        this.offline();
        this.#cancelTick();
        await this.#desk.turns.add(() => {});
        this.#desk.store.close();
    }

    /** Stays without a connection until `online`. */
    offline() {
        this.#desk.link.offline();
    }

    online() {
        if (this.#hasClosed) return;
        this.#desk.joining.forgive();
        this.#desk.link.online();
    }

    /** There may be a newer token: it is told to the hub, or tried on a new connection. */
    renew() {
        if (this.#desk.link.isUp) this.#desk.link.renewToken();
        else this.online();
    }

    /** Tries at once, for a network or a reader that is back. */
    hurry() {
        this.#desk.link.hurry();
    }

    /** Drops the link, as a network does. */
    cut() {
        this.#desk.link.cut();
    }

    /** What it knows of a room that was joined, or whose outbox is not empty. */
    room(name) {
        return this.rooms.get(name);
    }

    /** `last`: how many entries to begin with if none are stored. */
    async join(name, { presence = true, last = 50, status = "online" } = {}) {
        const wrong = check(name);
        if (wrong !== undefined) throw new TypeError(wrong);
        await this.#desk.turns.add(() => {
            const room = this.#desk.room(name);
            Object.assign(room, { isWanted: true, wantsPresence: presence, last, status, phase: "waiting" });
            this.#desk.joining.begin(room);
            this.#desk.tell("room", { room: name });
        });
        return this.rooms.get(name);
    }

    leave(name) {
        return this.#desk.turns.add(() => {
            const room = this.rooms.get(name);
            if (room === undefined || !room.isWanted) return;
            room.isWanted = false;
            if (room.outbox.length === 0) {
                this.#desk.link.say({ t: "leave", room: name });
                room.disconnected();
                room.phase = "left";
            }
            this.#desk.tell("room", { room: name });
        });
    }

    /** Kept once the message is in the outbox, on disk, with its number; it is then sent until it is stored, or refused for good. */
    async send(name, message) {
        if (this.#hasClosed) throw new OutboxError("stopped", "The client was closed.");
        return this.#desk.outbox.send(name, message);
    }

    /** A failed message is sent after all, under a new number. */
    retry(name, id) {
        return this.#desk.outbox.retry(name, id);
    }

    discard(name, id) {
        return this.#desk.outbox.discard(name, id);
    }

    /** Takes over failed messages of another store, to be retried or discarded here. */
    adopt(messages) {
        return this.#desk.outbox.adopt(messages);
    }

    /** The last entries below a number: stored ones, else the hub's. `isFirst`: there is nothing before them. */
    earlier(name, before, limit = 50) {
        return this.#desk.history.earlier(name, before, limit);
    }

    /** The user has read up to an entry. */
    read(name, seq) {
        this.#of(name, (room) => this.#desk.people.read(room, seq));
    }

    /** Said at most every 3 s. */
    typing(name, on) {
        this.#of(name, (room) => this.#desk.people.typing(room, on));
    }

    presence(name, status) {
        this.#of(name, (room) => this.#desk.people.presence(room, status));
    }

    signal(name, type, body) {
        this.#of(name, (room) => this.#desk.people.signal(room, type, body));
    }

    /** Messages that wait in all rooms. */
    get waiting() {
        return [...this.rooms.values()].reduce((sum, room) => sum + room.outbox.length, 0);
    }

    #of(name, work) {
        const room = this.rooms.get(name);
        if (room !== undefined) work(room);
    }

    #tick() {
        const { link, people, joining, outbox, time } = this.#desk;
        this.#cancelTick = time.after(times.tick, () => this.#tick());
        const now = time.now();
        people.tick(now);
        link.tick(now);
        if (link.isUp) joining.tick(now);
        if (link.isUp) outbox.tick(now);
    }
}

/** What the parts share, and what each tells the others. */
class Desk {
    device = "";
    turns = new Turns(this);
    joining = new Joining(this);
    entries = new Entries(this);
    outbox = new Outbox(this);
    renewal = new Renewal(this);
    history = new History(this);
    people = new People(this);
    link = null;
    #client;

    constructor(client, store, time, random) {
        this.#client = client;
        Object.assign(this, { store, time, random, rooms: client.rooms });
    }

    tell(type, detail) {
        this.#client.dispatchEvent(new CustomEvent(type, { detail }));
    }

    room(name) {
        if (!this.rooms.has(name)) this.rooms.set(name, new Room(name));
        return this.rooms.get(name);
    }

    async load() {
        const { device, offset, rooms, outbox, failed } = await this.store.load();
        this.device = device;
        if (this.link.welcome === null) this.link.offset = offset;
        for (const room of this.rooms.values()) room.forget();
        for (const record of rooms) this.room(record.room).take(record);
        for (const row of outbox) this.room(row.room).outbox.push(row);
        for (const message of failed) this.room(message.room).failed.push(message);
    }

    /** What was assumed to be stored is not: everything is read again, and fetched again. */
    async storeFailed(error) {
        this.tell("trouble", { text: `The browser's storage does not take what it should: ${error?.message ?? error}` });
        this.link.rest(times.storePause);
        this.link.lost();
        try {
            await this.load();
        } catch {
            // The cursors in memory are those of the last transaction that was written.
        }
    }

    /** Hello is said in turn, so that its cursors are those of what is stored. */
    opened(connection) {
        this.turns.add(() => {
            if (connection === this.link.connection) this.link.greet(this.device, this.joining.greeting());
        });
    }

    welcomed(isTimed) {
        const { offset } = this.link;
        if (isTimed) this.turns.add(() => this.store.setOffset(offset)).catch(() => {});
        this.turns.add(() => this.joining.welcomed());
    }

    disconnected() {
        this.joining.disconnected();
        this.history.disconnected();
        for (const room of this.rooms.values()) {
            room.disconnected();
            this.tell("room", { room: room.name });
        }
    }

    /** A frame that is not about the connection. */
    heard(frame) {
        const room = this.rooms.get(frame.room);
        if (room !== undefined && this.people.heardInPassing(room, frame)) return;
        if (frame.t === "error" && frame.ref !== undefined) return this.history.refused(frame);
        if (room !== undefined) this.turns.addFrame(frame);
        else if (frame.t === "error") this.link.refused(frame);
    }

    async takeIn(frame) {
        const room = this.rooms.get(frame.room);
        switch (frame.t) {
            case "state": return this.entries.takeState(room, frame);
            case "msg": return this.entries.takeEntries(room, frame);
            case "ack": return this.outbox.takeAcks(room, frame);
            case "hole": return this.outbox.takeHole(room, frame);
            case "page": return this.history.takePage(room, frame);
            case "read": return this.people.takeRead(room, frame);
            case "lag": return this.joining.again(room);
            case "error": return (frame.cseq === undefined ? this.joining : this.outbox).refused(room, frame);
        }
    }
}
