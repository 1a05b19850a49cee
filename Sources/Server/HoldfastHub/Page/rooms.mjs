// A client of docs/rooms-protocol.md (holdfast.rooms.v1.json) with resume and a durable outbox; it depends on nothing.
//
//     const client = new RoomsClient({ url: "wss://host/rooms", token: () => "…", store: new Store(await IndexedBackend.open("me")) });
//     client.addEventListener("entries", ({ detail }) => …);
//     await client.start();
//     await client.join("abc");
//     const row = await client.send("abc", { type: "chat.text", body: { text: "hi" } });   // in the outbox, on disk
//
// This file connects the parts and has the API for apps. Each part is a file with one purpose: link.mjs (the connection),
// joining.mjs (joining rooms), entries.mjs (the copy of a room), outbox.mjs (waiting messages), renewal.mjs (restored stores),
// history.mjs, people.mjs (ephemeral data), turns.mjs (one change after another), room.mjs (the state of a room), store.mjs (data on
// disk).

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
 * Events, with their subject in `detail`:
 * connection ({state}), room ({room}: its phase), entries ({room, items}), replaced ({room, items}), outbox ({room}), stored ({room, id,
 * seq}), members, typing, reads ({room}), signal ({room, user, conn, type, body}), trouble ({text}).
 */
export class RoomsClient extends EventTarget {
    rooms = new Map();
    #client;
    #hasClosed = false;
    #cancelTick = () => {};

    /**
     * `token`: returns the token for hello, possibly as a promise. It is called with `isExpired` if the last token is no longer valid.
     * If it has no other token then, no further attempt is made before `renew` or `online`.
     */
    constructor({ url, token, store, agent = "holdfast page", socket = (...words) => new WebSocket(...words), time = realTime,
        random = Math.random }) {
        super();
        const client = (this.#client = new ClientCore(this, store, time, random));
        client.link = new Link(client, { url, token, agent, socket });
    }

    /** Loads the stored state and connects. */
    async start() {
        await this.#client.load();
        this.#tick();
        this.#client.link.online();
    }

    /** The state: offline, connecting, welcomed, lost, replaced or refused. */
    get state() {
        return this.#client.link.state;
    }

    /** The round trip of a ping in milliseconds, once measured. */
    get roundTrip() {
        return this.#client.link.roundTrip;
    }

    /** The hub's answer to hello. */
    get welcome() {
        return this.#client.link.welcome;
    }

    /** The last refusal of the whole connection. */
    get refusal() {
        return this.#client.link.refusal;
    }

    /** When the next attempt starts, by the local clock; 0: none is planned. */
    get nextAttempt() {
        return this.#client.link.nextAttempt;
    }

    /** When the token of the current connection expires, by the local clock. */
    get tokenEnds() {
        return this.#client.link.tokenEnds;
    }

    get device() {
        return this.#client.device;
    }

    /** Ends everything; the outbox keeps its messages. */
    async close() {
        this.#hasClosed = true;
        this.offline();
        this.#cancelTick();
        await this.#client.turns.add(() => {});
        this.#client.store.close();
    }

    /** Stays disconnected until `online`. */
    offline() {
        this.#client.link.offline();
    }

    online() {
        if (this.#hasClosed) return;
        this.#client.joining.forgive();
        this.#client.link.online();
    }

    /** Call this when there may be a newer token: it is sent to the hub, or tried on a new connection. */
    renew() {
        if (this.#client.link.isUp) this.#client.link.renewToken();
        else this.online();
    }

    /** Tries to connect at once, when the network or the user is back. */
    hurry() {
        this.#client.link.hurry();
    }

    /** Drops the link, as a bad network does. */
    cut() {
        this.#client.link.cut();
    }

    /** Returns the state of a room that was joined, or whose outbox is not empty. */
    room(name) {
        return this.rooms.get(name);
    }

    /** `last`: the number of entries to begin with if none are stored. */
    async join(name, { presence = true, last = 50, status = "online" } = {}) {
        const wrong = check(name);
        if (wrong !== undefined) throw new TypeError(wrong);
        await this.#client.turns.add(() => {
            const room = this.#client.room(name);
            Object.assign(room, { isWanted: true, wantsPresence: presence, last, status, phase: "waiting" });
            this.#client.joining.begin(room);
            this.#client.tell("room", { room: name });
        });
        return this.rooms.get(name);
    }

    leave(name) {
        return this.#client.turns.add(() => {
            const room = this.rooms.get(name);
            if (room === undefined || !room.isWanted) return;
            room.isWanted = false;
            if (room.outbox.length === 0) {
                this.#client.link.say({ t: "leave", room: name });
                room.disconnected();
                room.phase = "left";
            }
            this.#client.tell("room", { room: name });
        });
    }

    /** Resolves when the message is in the outbox, on disk, with its number; it is then sent until it is stored or refused for good. */
    async send(name, message) {
        if (this.#hasClosed) throw new OutboxError("stopped", "The client was closed.");
        return this.#client.outbox.send(name, message);
    }

    /** Sends a failed message again, under a new number. */
    retry(name, id) {
        return this.#client.outbox.retry(name, id);
    }

    discard(name, id) {
        return this.#client.outbox.discard(name, id);
    }

    /** Takes over failed messages of another store, to be retried or discarded here. */
    adopt(messages) {
        return this.#client.outbox.adopt(messages);
    }

    /** Returns the last entries below a number, from the store or else from the hub. `isFirst`: there are no earlier entries. */
    earlier(name, before, limit = 50) {
        return this.#client.history.earlier(name, before, limit);
    }

    /** The user has read up to an entry. */
    read(name, seq) {
        this.#of(name, (room) => this.#client.people.read(room, seq));
    }

    /** Reports typing, at most every 3 s. */
    typing(name, on) {
        this.#of(name, (room) => this.#client.people.typing(room, on));
    }

    presence(name, status) {
        this.#of(name, (room) => this.#client.people.presence(room, status));
    }

    signal(name, type, body) {
        this.#of(name, (room) => this.#client.people.signal(room, type, body));
    }

    /** The number of waiting messages in all rooms. */
    get waiting() {
        return [...this.rooms.values()].reduce((sum, room) => sum + room.outbox.length, 0);
    }

    #of(name, work) {
        const room = this.rooms.get(name);
        if (room !== undefined) work(room);
    }

    #tick() {
        const { link, people, joining, outbox, time } = this.#client;
        this.#cancelTick = time.after(times.tick, () => this.#tick());
        const now = time.now();
        people.tick(now);
        link.tick(now);
        if (link.isUp) joining.tick(now);
        if (link.isUp) outbox.tick(now);
    }
}

/** The shared state of the parts, and their connections to each other. */
class ClientCore {
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

    /** A write has failed: everything is loaded and fetched again. */
    async storeFailed(error) {
        this.tell("trouble", { text: `The browser's storage failed: ${error?.message ?? error}` });
        this.link.rest(times.storePause);
        this.link.lost();
        try {
            await this.load();
        } catch {
            // The cursors in memory are those of the last successful transaction.
        }
    }

    /** Hello is sent in turn, so that its cursors match the stored state. */
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

    /** Processes a frame that is not about the connection. */
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
