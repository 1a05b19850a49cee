// A client of docs/rooms-protocol.md (holdfast.rooms.v1.json) with resume and a durable outbox; it depends on nothing.
//
//     const client = new RoomsClient({ url: "wss://host/rooms", token: () => "…", store: new Store(await IndexedBackend.open("me")) });
//     client.addEventListener("entries", ({ detail }) => …);
//     await client.start();
//     await client.join("abc");
//     const row = await client.send("abc", { type: "chat.text", body: { text: "hi" } });   // in the outbox, on disk

import { backoff } from "./backoff.mjs";
import { messageID } from "./identity.mjs";
import { Room } from "./room.mjs";

const protocol = "holdfast.rooms.v1.json";
const times = {
    welcome: 15_000, state: 15_000, resend: 10_000, ping: 5_000, silence: 10_000, tick: 1_000, history: 15_000, typing: 3_000,
    /** Before a token ends, another one is asked for. */
    renewal: 60_000,
    /** What is older than the hub remembers, less this, is not sent any more. */
    margin: 86_400_000,
    /** The least pause before what was refused for now is tried again. */
    pause: 250,
};
const most = {
    /** Messages that wait in the outbox of a room. */
    waiting: 1_000,
    /** Resumes that fail in a row before each room is joined alone. */
    resumes: 5,
    /** Times that all is sent again on one connection without an ack. */
    resends: 3,
    /** Times that a room may cost the connection when joined alone. */
    aloneFailures: 3,
    /** Frames that wait to be taken in; beyond, the link is given up and the rest fetched later. */
    frames: 20_000,
};
const codes = { expired: 2002, notJoined: 3003 };
export const failures = {
    expired: { code: 4004, text: "It waited too long to be sent." },
    uncertain: { code: 0, text: "It may have been stored; the hub no longer knows." },
};
const realTime = {
    now: () => Date.now(),
    after: (milliseconds, work) => {
        const timer = setTimeout(work, milliseconds);
        return () => clearTimeout(timer);
    },
};

/** Why a message was not taken into the outbox: `reason` is tooMany, tooLong, storage or stopped. */
export class OutboxError extends Error {
    constructor(reason, text) {
        super(text);
        this.reason = reason;
    }
}

/**
 * Events, each with what it is about in `detail`:
 * connection ({state}), room ({room}: its phase), entries ({room, items}), replaced ({room, items}), outbox ({room}),
 * stored ({room, id, seq}), members, typing, reads ({room}), signal ({room, user, conn, type, body}), trouble ({text}).
 */
export class RoomsClient extends EventTarget {
    /** offline, connecting, welcomed, lost, replaced or refused. */
    state = "offline";
    /** Milliseconds that a ping took, once measured. */
    roundTrip = null;
    /** The hub's answer to hello. */
    welcome = null;
    /** What the hub refused last as a whole. */
    refusal = null;
    /** When the next attempt is made, by our clock; 0: none is planned. */
    nextAttempt = 0;
    rooms = new Map();

    #options;
    #time;
    #random;
    #store;
    #device;
    #offset = 0;
    #socket = null;
    /** Counts connections: what came by an earlier one is not taken in any more. */
    #connection = 0;
    #token = null;
    #isWanted = false;
    #hasClosed = false;
    #failures = 0;
    #notBefore = 0;
    #goaway = false;
    #resumes = 0;
    #hasResumed = false;
    #oneByOne = false;
    #joiningAlone = null;
    /** The store was restored from a backup, or the log rewound: what is proved stored is found out, then the device renewed. */
    #isProving = false;
    #deadline = 0;
    #cancelAttempt = () => {};
    #cancelTick = () => {};
    #ping = { number: 0, sent: 0, next: 0, heard: 0 };
    #renewAt = 0;
    #work = [];
    #isWorking = false;
    #histories = new Map();
    #historyNumber = 0;

    constructor({ url, token, store, agent = "holdfast page", socket = (...words) => new WebSocket(...words), time = realTime,
        random = Math.random }) {
        super();
        this.#options = { url, token, agent, socket };
        [this.#store, this.#time, this.#random] = [store, time, random];
    }

    /** Reads what is stored and connects. */
    async start() {
        await this.#load();
        this.#isWanted = true;
        this.#tick();
        this.#open();
    }

    get device() {
        return this.#device;
    }

    /** Ends everything; what is in the outbox stays there. */
    async close() {
        this.#hasClosed = true;
        this.offline();
        this.#cancelTick();
        await this.#inTurn(() => {});
        this.#store.close();
    }

    /** Stays without a connection until `online`. */
    offline() {
        this.#isWanted = false;
        this.#cancelAttempt();
        this.#lose("offline");
    }

    online() {
        if (this.#hasClosed) return;
        this.#isWanted = true;
        this.#failures = this.#resumes = 0;
        if (this.#socket === null) this.#open();
    }

    /** Tries at once, for a network or a reader that is back. */
    hurry() {
        if (this.#isWanted && this.state === "lost" && this.#time.now() >= this.#notBefore) this.#open();
        else if (this.state === "welcomed") this.#sendPing();
    }

    /** Drops the link, as a network does. */
    cut() {
        if (this.#socket !== null) this.#lost(this.#connection);
    }

    /** What it knows of a room that was joined, or whose outbox is not empty. */
    room(name) {
        return this.rooms.get(name);
    }

    /** `last`: how many entries to begin with if none are stored. */
    async join(name, { presence = true, last = 50, status = "online" } = {}) {
        await this.#inTurn(() => {
            const room = this.#roomNamed(name);
            Object.assign(room, { isWanted: true, wantsPresence: presence, last, status });
            room.phase = "waiting";
            this.#joinInTurn(room);
            this.#tell("room", { room: name });
        });
        return this.rooms.get(name);
    }

    leave(name) {
        return this.#inTurn(() => {
            const room = this.rooms.get(name);
            if (room === undefined || !room.isWanted) return;
            room.isWanted = false;
            if (room.outbox.length === 0) {
                this.#say({ t: "leave", room: name });
                room.disconnected();
                room.phase = "left";
            }
            this.#tell("room", { room: name });
        });
    }

    /** Kept once the message is in the outbox, on disk, with its number; it is then sent until it is stored, or refused for good. */
    async send(name, { type, body, about, id }) {
        if (this.#hasClosed) throw new OutboxError("stopped", "The client was closed.");
        const limit = this.welcome?.limits?.body ?? 65_536;
        if (new TextEncoder().encode(JSON.stringify(body ?? null)).length > limit) {
            throw new OutboxError("tooLong", `A message may have ${limit} bytes.`);
        }
        return this.#inTurn(async () => {
            const room = this.#roomNamed(name);
            if (room.outbox.length >= most.waiting) throw new OutboxError("tooMany", "Too many messages wait to be sent.");
            const at = Math.max(0, Math.round(this.#hubTime()));
            const message = { id: id ?? messageID(this.#time.now()), at, type, body: body ?? null, ...(about && { about }) };
            const row = await this.#stored(() => this.#store.enqueue(name, message), "storage");
            this.#queued(room, row);
            return row;
        });
    }

    /** A failed message is sent after all, under a new number. */
    retry(name, id) {
        return this.#inTurn(async () => {
            const room = this.rooms.get(name);
            const at = Math.max(0, Math.round(this.#hubTime()));
            const row = await this.#stored(() => this.#store.retry(name, id, at), "storage");
            if (room === undefined || row === undefined) return;
            room.failed = room.failed.filter((message) => message.id !== id);
            this.#queued(room, row);
        });
    }

    discard(name, id) {
        return this.#inTurn(async () => {
            await this.#stored(() => this.#store.discard(name, id), "storage");
            const room = this.rooms.get(name);
            if (room !== undefined) room.failed = room.failed.filter((message) => message.id !== id);
            this.#tell("outbox", { room: name });
        });
    }

    /** The last entries below a number: stored ones, else the hub's. `isFirst`: there is nothing before them. */
    async earlier(name, before, limit = 50) {
        const room = this.rooms.get(name);
        if (room !== undefined && before > room.first) {
            const items = await this.#store.entries(name, before, limit);
            if (items.length > 0) return { items, isFirst: items[0].seq <= 1 };
        }
        if (before <= 1) return { items: [], isFirst: true };
        if (this.state !== "welcomed" || !room?.isLive) throw new Error("There is no connection to load more from.");
        const ref = ++this.#historyNumber;
        return new Promise((done, fail) => {
            const cancel = this.#time.after(times.history, () => this.#endHistory(ref, new Error("The hub does not answer.")));
            this.#histories.set(ref, { done, fail, cancel, name, before });
            this.#say({ t: "hist", ref, room: name, before, limit });
        });
    }

    /** The user has read up to an entry. */
    read(name, seq) {
        const room = this.rooms.get(name);
        if (room === undefined || seq <= room.read) return;
        room.read = seq;
        if (room.isLive) this.#say({ t: "read", room: name, seq });
        this.#inTurn(() => this.#stored(() => this.#store.setRead(name, seq))).catch(() => {});
    }

    /** Said at most every 3 s. */
    typing(name, on) {
        const room = this.rooms.get(name);
        if (!room?.isLive) return;
        const now = this.#time.now();
        if (on ? now < room.typingSaid + times.typing : room.typingSaid === -Infinity) return;
        room.typingSaid = on ? now : -Infinity;
        this.#say({ t: "typ", room: name, ...(on && { on }) });
    }

    presence(name, status) {
        const room = this.rooms.get(name);
        if (room === undefined || room.status === status) return;
        room.status = status;
        if (room.isLive && room.wantsPresence) this.#say({ t: "pres", room: name, status });
    }

    signal(name, type, body) {
        if (this.rooms.get(name)?.isLive) this.#say({ t: "sig", room: name, type, body });
    }

    /** Messages that wait in all rooms. */
    get waiting() {
        return [...this.rooms.values()].reduce((sum, room) => sum + room.outbox.length, 0);
    }

    // One thing after the other: what changes the store is done when the next begins.

    #inTurn(work) {
        return new Promise((done, fail) => {
            this.#work.push({ work, done, fail });
            this.#goOn();
        });
    }

    async #goOn() {
        if (this.#isWorking) return;
        this.#isWorking = true;
        while (this.#work.length > 0) {
            const { work, done, fail, frame, connection } = this.#work.shift();
            try {
                if (frame === undefined) done(await work());
                else if (connection === this.#connection) await this.#takeIn(this.#gathered(frame, connection));
            } catch (error) {
                if (fail !== undefined) fail(error);
                else await this.#storeFailed(error);
            }
        }
        this.#isWorking = false;
    }

    /** Entries that have come meanwhile are written together. */
    #gathered(frame, connection) {
        if (frame.t !== "msg" || !Array.isArray(frame.items)) return frame;
        const items = [...frame.items];
        while (items.length < 500) {
            const next = this.#work[0];
            const isMore = next?.frame?.t === "msg" && next.connection === connection && next.frame.room === frame.room
                && next.frame.epoch === frame.epoch && Array.isArray(next.frame.items);
            if (!isMore) break;
            items.push(...this.#work.shift().frame.items);
        }
        return { ...frame, items };
    }

    async #stored(write, reason) {
        try {
            return await write();
        } catch (error) {
            if (reason === undefined) throw error;
            const isFull = error?.name === "QuotaExceededError";
            throw new OutboxError(reason, isFull ? "The browser's storage is full." : "The browser cannot store the message.");
        }
    }

    /** What was assumed to be stored is not: everything is read again, and fetched again. */
    async #storeFailed(error) {
        this.#tell("trouble", { text: `The browser's storage does not take what it should: ${error?.message ?? error}` });
        this.#notBefore = this.#time.now() + 1_000;
        this.#lost(this.#connection);
        try {
            await this.#load();
        } catch {
            // The cursors in memory are those of the last transaction that was written.
        }
    }

    async #load() {
        const { device, offset, rooms, outbox, failed } = await this.#store.load();
        [this.#device, this.#offset] = [device, offset];
        for (const room of this.rooms.values()) room.forget();
        for (const record of rooms) this.#roomNamed(record.room).take(record);
        for (const row of outbox) this.#roomNamed(row.room).outbox.push(row);
        for (const message of failed) this.#roomNamed(message.room).failed.push(message);
    }

    #roomNamed(name) {
        if (!this.rooms.has(name)) this.rooms.set(name, new Room(name));
        return this.rooms.get(name);
    }

    #tell(type, detail) {
        this.dispatchEvent(new CustomEvent(type, { detail }));
    }

    #hubTime() {
        return this.#time.now() + this.#offset;
    }

    // The connection.

    async #open() {
        this.#cancelAttempt();
        this.nextAttempt = 0;
        const connection = ++this.#connection;
        this.#become("connecting");
        this.#deadline = this.#time.now() + times.welcome;
        try {
            this.#token = await this.#options.token({ isExpired: this.refusal?.code === codes.expired });
        } catch {
            if (connection === this.#connection) this.#lost(connection);
            return;
        }
        if (connection !== this.#connection) return;
        const socket = this.#options.socket(this.#options.url, [protocol]);
        this.#socket = socket;
        socket.onopen = () => this.#inTurn(() => this.#hello(connection));
        socket.onmessage = ({ data }) => this.#heard(connection, data);
        socket.onclose = ({ code, reason }) => this.#closed(connection, code, reason);
    }

    /** In turn, so that the cursors are those of what is stored. */
    #hello(connection) {
        if (connection !== this.#connection) return;
        const rooms = this.#roomsToJoin();
        this.#oneByOne = this.#resumes >= most.resumes;
        this.#hasResumed = !this.#oneByOne && rooms.length > 0;
        const limit = 500;
        const joins = this.#oneByOne ? [] : rooms.slice(0, limit).map((room) => room.joins(this.#time.now() + times.state));
        this.#say({ t: "hello", v: [1], device: this.#device, token: this.#token, agent: this.#options.agent, joins });
    }

    #roomsToJoin() {
        return [...this.rooms.values()].filter((room) => room.phase !== "refused" && (room.isWanted || room.outbox.length > 0));
    }

    /** Nothing goes before hello and its answer. */
    #say(frame) {
        if (this.#socket?.readyState !== 1 || (this.state !== "welcomed" && frame.t !== "hello")) return;
        this.#socket.send(JSON.stringify(frame));
    }

    #heard(connection, data) {
        if (connection !== this.#connection) return;
        let frame;
        try {
            frame = JSON.parse(data);
        } catch {
            frame = null;
        }
        if (frame === null || typeof frame !== "object" || typeof frame.t !== "string") return this.#lost(connection);
        this.#ping.heard = this.#time.now();
        const room = this.rooms.get(frame.room);
        if (room !== undefined && this.#heardInPassing(room, frame)) return;
        switch (frame.t) {
            case "welcome": return this.#welcomed(frame);
            case "renewed": return this.#planRenewal(frame.expires);
            case "pong": return this.#ponged(frame);
            case "goaway": return this.#goesAway(frame);
            case "error": if (room === undefined || frame.ref !== undefined) return this.#refused(frame);
        }
        if (room === undefined) return;
        if (this.#work.length >= most.frames) return this.#lost(connection);
        this.#work.push({ frame, connection });
        this.#goOn();
    }

    /** What nobody stores waits for nothing that is stored. */
    #heardInPassing(room, frame) {
        switch (frame.t) {
            case "members":
                if (!room.attendance.apply({ version: 0, ...frame })) this.#say({ t: "members", room: room.name });
                this.#tell("members", { room: room.name });
                return true;
            case "typ":
                if (frame.user !== this.welcome?.user) room.types(frame.user, frame.on === true, this.#time.now());
                this.#tell("typing", { room: room.name });
                return true;
            case "sig":
                this.#tell("signal", { room: room.name, user: frame.user, conn: frame.conn, type: frame.type, body: frame.body });
                return true;
            default:
                return false;
        }
    }

    #welcomed(frame) {
        if (this.state !== "connecting" || frame.v !== 1) return;
        this.welcome = frame;
        this.refusal = null;
        this.#goaway = false;
        this.#deadline = Infinity;
        this.#planRenewal(frame.expires);
        if (Number.isSafeInteger(frame.now)) {
            this.#offset = frame.now - this.#time.now();
            this.#inTurn(() => this.#store.setOffset(this.#offset)).catch(() => {});
        }
        this.#ping = { number: 0, sent: 0, next: 0, heard: 0 };
        this.#become("welcomed");
        this.#sendPing();
        this.#inTurn(() => {
            if (this.#oneByOne) this.#joinNextAlone();
            else for (const room of this.#roomsToJoin()) if (!room.isJoining && !room.hasState) this.#join(room);
        });
    }

    #planRenewal(expires) {
        this.#renewAt = expires > 0 ? expires - this.#offset - times.renewal : Infinity;
        if (this.#renewAt !== Infinity && this.welcome !== null && expires === this.welcome.expires) {
            // The clock may have been corrected by this very welcome.
            this.#renewAt = this.#time.now() + Math.max(0, expires - this.welcome.now - times.renewal);
        }
    }

    async #renewToken() {
        this.#renewAt = Infinity;
        const connection = this.#connection;
        try {
            const token = await this.#options.token({ isExpired: true });
            if (connection === this.#connection && token !== this.#token) this.#say({ t: "auth", token: (this.#token = token) });
        } catch {
            // The connection ends with its token, and is opened again.
        }
    }

    #sendPing() {
        if (this.#ping.sent !== 0) return;
        const now = this.#time.now();
        this.#ping = { ...this.#ping, number: this.#ping.number + 1, sent: now, next: now + times.ping };
        this.#say({ t: "ping", n: this.#ping.number });
    }

    #ponged({ n }) {
        if (n !== this.#ping.number || this.#ping.sent === 0) return;
        this.roundTrip = this.#time.now() - this.#ping.sent;
        this.#ping.sent = 0;
        this.#failures = 0;
        this.#tell("connection", { state: this.state });
    }

    #goesAway({ after = 0, drain = 0 }) {
        this.#goaway = true;
        this.#notBefore = this.#time.now() + Math.min(600_000, Math.max(0, after));
        this.#deadline = this.#time.now() + Math.min(60_000, drain) + 2_000;
    }

    /** What concerns the connection, or a question about history. */
    #refused(frame) {
        if (frame.ref !== undefined && this.#histories.has(frame.ref)) {
            return this.#endHistory(frame.ref, new Error(frame.text || `The hub refused it (${frame.code}).`));
        }
        this.refusal = frame;
        if (frame.retry === "after") this.#notBefore = Math.max(this.#notBefore, this.#time.now() + this.#pause(frame));
        if (frame.retry === "reconnect") this.#lost(this.#connection);
    }

    #pause({ after }) {
        return Math.min(600_000, Math.max(times.pause, Number(after) || 0));
    }

    #closed(connection, code, reason) {
        if (connection !== this.#connection) return;
        if (code === 4000) return this.#stop("replaced");
        if (code >= 4100 && code <= 4199) {
            this.refusal ??= { code, text: reason || "The hub does not let us in." };
            return this.#stop("refused");
        }
        this.#lost(connection);
    }

    /** Another attempt would end in the same way, until somebody asks for it. */
    #stop(state) {
        this.#isWanted = false;
        this.#lose(state);
    }

    #lost(connection) {
        if (connection !== this.#connection || !this.#isWanted) return;
        this.#lose("lost");
        const now = this.#time.now();
        const wait = Math.max(backoff(this.#failures++, this.#random), this.#notBefore - now);
        this.nextAttempt = now + wait;
        this.#cancelAttempt = this.#time.after(wait, () => this.#open());
        this.#tell("connection", { state: this.state });
    }

    /** Does not wait for the closing handshake: a dead link would not take part in it. */
    #lose(state) {
        const socket = this.#socket;
        this.#socket = null;
        this.#connection++;
        if (this.#hasResumed) this.#resumes++;
        this.#hasResumed = false;
        if (this.#joiningAlone !== null) this.#joiningAlone.aloneFailures++;
        this.#joiningAlone = null;
        this.roundTrip = null;
        this.#renewAt = Infinity;
        for (const ref of [...this.#histories.keys()]) this.#endHistory(ref, new Error("The connection was lost."));
        for (const room of this.rooms.values()) room.disconnected();
        if (socket !== null) {
            socket.onopen = socket.onmessage = socket.onclose = null;
            socket.close();
        }
        this.#become(state);
        for (const room of this.rooms.values()) this.#tell("room", { room: room.name });
    }

    #become(state) {
        if (this.state === state) return;
        this.state = state;
        this.#tell("connection", { state });
    }

    #tick() {
        const now = this.#time.now();
        this.#cancelTick = this.#time.after(times.tick, () => this.#tick());
        for (const room of this.rooms.values()) if (room.forgetTyping(now)) this.#tell("typing", { room: room.name });
        if (this.#socket === null && this.state !== "connecting") return;
        const isSilent = this.#ping.sent !== 0 && now - Math.max(this.#ping.sent, this.#ping.heard) > times.silence;
        if (now >= this.#deadline || (this.state === "welcomed" && isSilent)) return this.#lost(this.#connection);
        if (this.state !== "welcomed") return;
        if (now >= this.#ping.next) this.#sendPing();
        if (now >= this.#renewAt) this.#renewToken();
        for (const room of this.rooms.values()) {
            if (room.isJoining && now >= room.stateDeadline) return this.#lost(this.#connection);
            if (room.mustResend(now, times.resend)) {
                // What does not help again and again may help on a fresh connection.
                if (++room.resends > most.resends) return this.#lost(this.#connection);
                room.rewind();
            }
            if (room.rejoinAt <= now) this.#inTurn(() => room.rejoinAt <= this.#time.now() && this.#join(room));
            this.#pump(room);
        }
    }

    // Joining.

    #join(room) {
        if (this.state !== "welcomed" || room.isJoining || room.phase === "refused") return;
        this.#say({ t: "join", ...room.joins(this.#time.now() + times.state) });
    }

    #joinInTurn(room) {
        if (this.#oneByOne) this.#joinNextAlone();
        else this.#join(room);
    }

    #joinNextAlone() {
        if (this.#joiningAlone !== null || this.state !== "welcomed") return;
        const rooms = this.#roomsToJoin().filter((room) => !room.hasState && !room.isJoining && room.rejoinAt === Infinity);
        rooms.sort((a, b) => a.aloneFailures - b.aloneFailures);
        if (rooms.length === 0) return;
        const room = rooms[0];
        if (room.aloneFailures >= most.aloneFailures) return this.#refuse(room, { code: 0, text: "The hub fails at this room." });
        this.#joiningAlone = room;
        this.#join(room);
    }

    /** Something is missing or makes no sense: fetched again from the cursor, soon or after a pause. */
    #rejoin(room, pause = 0) {
        room.isLive = room.hasState = room.isJoining = false;
        room.rejoinAt = pause > 0 ? this.#time.now() + pause : Infinity;
        if (pause === 0) this.#join(room);
        this.#tell("room", { room: room.name });
    }

    #refuse(room, refusal) {
        room.disconnected();
        room.phase = "refused";
        room.refusal = refusal;
        this.#tell("room", { room: room.name });
        this.#joinedAlone(room);
        return this.#provedAll();
    }

    #joinedAlone(room) {
        if (this.#joiningAlone === room) this.#joiningAlone = null;
        if (this.#oneByOne) this.#joinNextAlone();
    }

    async #takeIn(frame) {
        const room = this.rooms.get(frame.room);
        switch (frame.t) {
            case "state": return this.#takeState(room, frame);
            case "msg": return this.#takeEntries(room, frame);
            case "ack": return this.#takeAcks(room, frame);
            case "hole": return this.#takeHole(room, frame);
            case "page": return this.#takePage(room, frame);
            case "read":
                if (room.reads(frame.user, frame.seq)) this.#tell("reads", { room: room.name });
                if (frame.user === this.welcome?.user && frame.seq > room.read) {
                    room.read = frame.seq;
                    await this.#store.setRead(room.name, frame.seq);
                }
                return;
            case "lag": return this.#rejoin(room);
            case "error": return this.#takeError(room, frame);
        }
    }

    async #takeState(room, state) {
        const { epoch, from = 1, to, head = 0, items = [], snapshot = false, more = false, high = 0, highId, rights, reads = [] } = state;
        if (!room.isJoining) return;
        room.isJoining = false;
        const isNonsense = typeof epoch !== "string" || !Array.isArray(items) || items.some((item, index) => item.seq !== from + index);
        if (isNonsense) return this.#lost(this.#connection);
        const mayRead = (rights ?? "").includes("r");
        const isReplaced = mayRead && (snapshot || room.epoch !== epoch);
        const fresh = !mayRead ? [] : isReplaced ? items : items.filter((item) => item.seq > room.seq);
        if (!isReplaced && fresh.length > 0 && fresh[0].seq !== room.seq + 1) return this.#lost(this.#connection);
        const connection = this.#connection;
        const { proved, isForeign } = room.proves(this.#device, fresh);
        if (!mayRead) {
            // Its items say nothing about the log.
        } else if (isReplaced) {
            const seq = items.at(-1)?.seq ?? to ?? from - 1;
            await this.#store.replace(room.name, epoch, seq, items, proved);
            room.replaced(epoch, seq, items);
        } else if (fresh.length > 0) {
            await this.#store.append(room.name, epoch, fresh, proved);
            room.appended(fresh);
        }
        this.#tellEntries(room, isReplaced ? "replaced" : "entries", fresh, proved);
        if (connection !== this.#connection) return;
        this.#resumes = 0;
        this.#hasResumed = false;
        [room.hasState, room.head, room.rights] = [true, head, rights ?? ""];
        for (const { user, seq } of reads) room.reads(user, seq);
        this.#tell("reads", { room: room.name });
        if (more) {
            room.phase = "catchingUp";
            this.#join(room);
        } else this.#live(room);
        this.#tell("room", { room: room.name });
        room.noteHigh(high);
        if (!this.#isProving && (isForeign || room.isDoubtful(high, highId))) return this.#doubt();
        room.rewind();
        this.#pump(room);
        return this.#provedAll();
    }

    #live(room) {
        room.isLive = true;
        room.phase = "live";
        const known = room.markers.get(this.welcome?.user) ?? 0;
        if (known > room.read) room.read = known;
        else if (room.read > known) this.#say({ t: "read", room: room.name, seq: room.read });
        if (room.wantsPresence && room.status !== "online") this.#say({ t: "pres", room: room.name, status: room.status });
        this.#joinedAlone(room);
    }

    async #takeEntries(room, { epoch, items = [] }) {
        if (!room.isLive) return;
        if (epoch !== room.epoch) return this.#rejoin(room);
        const fresh = [];
        let isBroken = false;
        for (const item of items) {
            if (!Number.isSafeInteger(item?.seq)) return this.#lost(this.#connection);
            if (item.seq <= room.seq + fresh.length) continue;
            if (item.seq !== room.seq + fresh.length + 1) {
                isBroken = true;
                break;
            }
            fresh.push(item);
        }
        if (fresh.length > 0) {
            const { proved, isForeign } = room.proves(this.#device, fresh);
            await this.#store.append(room.name, epoch, fresh, proved);
            room.appended(fresh);
            this.#tellEntries(room, "entries", fresh, proved);
            if (isForeign) return this.#doubt();
            if (proved.length > 0) this.#progress(room);
        }
        if (isBroken) this.#rejoin(room);
    }

    #tellEntries(room, type, items, proved) {
        const isStored = new Set(proved);
        for (const row of room.outbox) {
            const item = isStored.has(row.cseq) ? items.find(({ cseq, id }) => cseq === row.cseq && id === row.id) : undefined;
            if (item !== undefined) this.#tell("stored", { room: room.name, id: row.id, seq: item.seq });
        }
        room.outbox = room.outbox.filter((row) => !isStored.has(row.cseq));
        if (items.length > 0 || type === "replaced") this.#tell(type, { room: room.name, items });
        if (isStored.size > 0) this.#tell("outbox", { room: room.name });
    }

    async #takePage(room, { ref, epoch, items = [], base = 1 }) {
        const question = this.#histories.get(ref);
        if (question === undefined || question.name !== room.name) return;
        if (epoch !== room.epoch) return this.#endHistory(ref, new Error("The room has begun anew."));
        if (items.some((item, index) => item.seq !== question.before - items.length + index)) {
            return this.#endHistory(ref, new Error("The hub sent a page with gaps."));
        }
        if (items.length > 0) room.first = await this.#store.prepend(room.name, epoch, items);
        this.#histories.delete(ref);
        question.cancel();
        question.done({ items, isFirst: items.length === 0 || items[0].seq <= base });
    }

    #endHistory(ref, error) {
        const question = this.#histories.get(ref);
        if (question === undefined) return;
        this.#histories.delete(ref);
        question.cancel();
        question.fail(error);
    }

    // Publishing.

    #queued(room, row) {
        room.outbox.push(row);
        room.next = row.cseq + 1;
        this.#tell("outbox", { room: room.name });
        if (!room.hasState && room.rejoinAt === Infinity) this.#joinInTurn(room);
        this.#pump(room);
    }

    /** Sends what the windows allow, oldest first. */
    #pump(room) {
        const now = this.#time.now();
        if (this.state !== "welcomed" || this.#goaway || !room.hasState || now < room.pausedUntil) return;
        const limits = this.welcome.limits ?? {};
        let [free, all] = [limits.roomWindow ?? 32, limits.window ?? 256];
        free -= room.inFlight;
        for (const other of this.rooms.values()) all -= other.inFlight;
        const oldest = this.#hubTime() - ((this.welcome.window || 90 * 86_400_000) - times.margin);
        let hasSent = false;
        for (const row of room.outbox) {
            if (row.cseq <= room.sentUpTo) continue;
            if (free <= 0 || all <= 0) break;
            if (this.#isProving && !room.mustProve(row)) break;
            if (room.verdicts.has(row.cseq)) continue;
            if (row.state === "queued" && row.at < oldest && row.cseq > room.high) {
                this.#inTurn(() => this.#burn(room, row.cseq, failures.expired)).catch((error) => this.#storeFailed(error));
                break;
            }
            if (room.inFlight === 0) room.waitingSince = now;
            const isProbe = this.#isProving && row.state === "queued" && row.cseq > room.high;
            this.#say(isProbe ? this.#probe(room, row) : publication(room.name, row, this.#hubTime()));
            room.sentUpTo = row.cseq;
            free--;
            all--;
            hasSent = true;
        }
        if (hasSent) this.#tell("outbox", { room: room.name });
    }

    async #takeAcks(room, { epoch, acks = [] }) {
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
                if (this.#isProving) room.verdicts.set(cseq, "unknown");
                else settled.failed.push({ ...row, failure: failures.uncertain });
            } else {
                room.verdicts.set(cseq, "other");
                isForeign = true;
            }
        }
        if (settled.removed.length + settled.failed.length > 0) await this.#settle(room, settled);
        for (const news of stored) this.#tell("stored", news);
        if (isForeign && !this.#isProving) return this.#doubt();
        this.#progress(room);
        return this.#provedAll();
    }

    async #settle(room, { removed = [], failed = [] }) {
        await this.#store.settle(room.name, { removed, failed });
        const gone = new Set([...removed, ...failed.map((row) => row.cseq)]);
        room.outbox = room.outbox.filter((row) => !gone.has(row.cseq));
        room.failed.push(...failed.map((row) => ({ ...row, state: "failed" })));
        this.#tell("outbox", { room: room.name });
        if (room.outbox.length === 0 && !room.isWanted && room.hasState) {
            this.#say({ t: "leave", room: room.name });
            room.disconnected();
        }
    }

    #progress(room) {
        room.waitingSince = this.#time.now();
        room.resends = 0;
        for (const other of this.rooms.values()) this.#pump(other);
    }

    /** Numbers from the oldest one that waits; one below it, which was acked and is asked for again, means that the log was rewound. */
    async #takeHole(room, { expected }) {
        const oldest = room.outbox[0]?.cseq;
        if (!Number.isSafeInteger(expected) || oldest === undefined) return;
        if (expected < oldest) return this.#doubt();
        room.rewind();
        this.#pump(room);
    }

    async #takeError(room, refusal) {
        const { cseq, retry, code } = refusal;
        if (cseq !== undefined) {
            const row = room.outbox.find((row) => row.cseq === cseq);
            if (row === undefined) return;
            if (retry === "reconnect") return this.#refused(refusal);
            if (retry === "never" && this.#isProving) {
                room.verdicts.set(cseq, "unknown");
                return this.#provedAll();
            }
            // One that is being burnt may have been sent more than once before: only an ack ends it.
            if (retry === "never") return this.#burn(room, cseq, { code, text: refusal.text || `The hub refused it (${code}).` });
            if (retry === "after" || retry === "now") {
                room.pausedUntil = this.#time.now() + this.#pause(refusal);
                this.#time.after(this.#pause(refusal), () => this.#pump(room));
            }
            room.sentUpTo = Math.min(room.sentUpTo, cseq - 1);
            return;
        }
        if (retry === "never") return this.#refuse(room, refusal);
        if (retry === "reconnect") return this.#refused(refusal);
        // A refused typ or pres changes nothing about the room.
        if (room.isJoining || code === codes.notJoined) this.#rejoin(room, this.#pause(refusal));
    }

    /** Its number is sent without it, so that the next ones are taken. */
    async #burn(room, cseq, failure) {
        const index = room.outbox.findIndex((row) => row.cseq === cseq && row.state === "queued");
        if (index < 0) return;
        const row = { ...room.outbox[index], state: "burning", failure };
        await this.#store.settle(room.name, { changed: [row] });
        room.outbox[index] = row;
        room.sentUpTo = Math.min(room.sentUpTo, cseq - 1);
        this.#tell("outbox", { room: room.name });
        this.#pump(room);
    }

    // A store that was restored from a backup, or a log that was rewound.

    /**
     * Asks the hub on a fresh connection about everything that waits, then takes a new device: a new number for a message that is stored
     * already would double it.
     */
    #doubt() {
        if (this.#isProving) return this.#provedAll();
        this.#isProving = true;
        for (const room of this.rooms.values()) {
            room.verdicts.clear();
            if (room.phase === "refused" && room.outbox.length > 0) room.phase = "waiting";
        }
        this.#lost(this.#connection);
    }

    /** Takes the number, unless the hub has the message under it, perhaps still on its way to the disk; the ack tells which. */
    #probe(room, row) {
        return { t: "pub", room: room.name, cseq: row.cseq, id: (row.probe ??= messageID(this.#time.now())), void: true };
    }

    async #provedAll() {
        if (!this.#isProving || this.state !== "welcomed") return;
        for (const room of this.rooms.values()) {
            if (room.outbox.length === 0 || room.phase === "refused") continue;
            if (!room.hasState) return;
            if (room.outbox.some((row) => room.mustProve(row) && !room.verdicts.has(row.cseq))) return;
        }
        const isUncertain = (row) => {
            const room = this.rooms.get(row.room);
            return room?.phase === "refused" || room?.verdicts.get(row.cseq) === "unknown";
        };
        await this.#store.renew(isUncertain, failures.uncertain);
        this.#isProving = false;
        for (const room of this.rooms.values()) room.verdicts.clear();
        this.#lost(this.#connection);
        await this.#load();
        for (const room of this.rooms.values()) this.#tell("outbox", { room: room.name });
    }
}

function publication(room, row, now) {
    const { cseq, id } = row;
    if (row.state === "burning") return { t: "pub", room, cseq, id, void: true };
    // A clock that has been wrong must not make it a message of the future.
    const at = Math.min(row.at, Math.round(now));
    return { t: "pub", room, cseq, id, at, type: row.type, ...(row.about && { about: row.about }), body: row.body };
}
