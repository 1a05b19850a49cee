// The client's state of one room.

import { most } from "./policy.mjs";
import { Attendance } from "./presence.mjs";

/** How long a user counts as typing. */
const typingLasts = 6_000;
const typists = 100;

export class Room {
    isWanted = false;
    wantsPresence = false;
    last = 50;
    /** The own presence status. */
    status = "online";
    /** The phase: waiting, catchingUp, live, refused or left. */
    phase = "waiting";
    refusal = null;

    // Stored state.
    epoch = "";
    seq = 0;
    first = 1;
    next = 1;
    read = 0;
    /** The hub's opaque proof of the entry at the cursor. */
    proof = "";
    /** The messages that are not known to be stored by the hub, ordered by number. */
    outbox = [];
    /** The messages that were refused for good. */
    failed = [];

    // State of the current connection.
    isJoining = false;
    stateDeadline = Infinity;
    rejoinAt = Infinity;
    hasState = false;
    isLive = false;
    head = 0;
    rights = "";
    high = 0;
    sentUpTo = 0;
    waitingSince = 0;
    resends = 0;
    pausedUntil = 0;
    typingSaid = -Infinity;
    aloneFailures = 0;
    /** While the store is in doubt: the hub's answers about our numbers for which it has no message of ours. */
    verdicts = new Map();

    attendance = new Attendance();
    /** The read markers of users. */
    markers = new Map();
    #typing = new Map();

    constructor(name) {
        this.name = name;
    }

    forget() {
        Object.assign(this, { epoch: "", seq: 0, first: 1, next: 1, read: 0, proof: "", outbox: [], failed: [] });
    }

    /** Applies a stored record; records from older versions have no proof. */
    take({ epoch, seq, first, next, read, proof = "" }) {
        Object.assign(this, { epoch, seq, first, next, read, proof });
    }

    disconnected() {
        Object.assign(this, {
            isJoining: false, stateDeadline: Infinity, rejoinAt: Infinity, hasState: false, isLive: false, high: 0, sentUpTo: 0,
            pausedUntil: 0, resends: 0, typingSaid: -Infinity,
        });
        if (this.phase === "live" || this.phase === "catchingUp") this.phase = "waiting";
        this.attendance.reconnected();
        this.#typing.clear();
    }

    /** Returns whether the user has a right in this room: r, w, p or a. */
    may(right) {
        return this.rights.includes(right);
    }

    /** Returns the fields of a join for the missed entries; from now on an answer is awaited. */
    joins(deadline) {
        [this.isJoining, this.isLive, this.rejoinAt, this.stateDeadline] = [true, false, Infinity, deadline];
        const cursor = this.epoch === "" ? { seq: -this.last } : { epoch: this.epoch, seq: this.seq };
        const wishes = { limit: most.missed, ...(this.wantsPresence && { presence: true }) };
        const shown = this.epoch !== "" && this.proof !== "" ? { proof: this.proof } : {};
        return { room: this.name, ...cursor, ...shown, ...wishes, next: this.next };
    }

    appended(items, proof = "") {
        this.proof = proof;
        this.seq = items.at(-1).seq;
        this.head = Math.max(this.head, this.seq);
        for (const { user } of items) this.#typing.delete(user);
    }

    replaced(epoch, seq, items, proof = "") {
        this.proof = proof;
        if (epoch !== this.epoch || seq < this.seq) [this.read, this.markers] = [0, new Map()];
        [this.epoch, this.seq, this.first] = [epoch, seq, items[0]?.seq ?? seq + 1];
    }

    /**
     * Returns which rows of the outbox these entries prove to be stored, and whether the device has sent something that is not in this
     * store.
     */
    proves(device, items) {
        const proved = [];
        let isForeign = false;
        for (const item of items) {
            if (item.device !== device) continue;
            const row = this.outbox.find(({ cseq }) => cseq === item.cseq);
            if (row?.id === item.id) proved.push(item.cseq);
            else if (row !== undefined || item.cseq >= this.next) isForeign = true;
        }
        return { proved, isForeign };
    }

    /** Returns whether the hub's memory of this device contradicts this store. */
    isDoubtful(high, highId) {
        const row = this.outbox.find(({ cseq }) => cseq === high);
        if (high >= this.next || (row !== undefined && highId && highId !== row.id)) return true;
        return (this.outbox[0]?.cseq ?? this.next) > this.high + 1;
    }

    /** Updates the highest number that the hub is known to have; a delayed answer may be older than an ack. */
    noteHigh(high) {
        this.high = Math.max(this.high, high);
    }

    /**
     * Returns whether the hub may have the message: it accepts numbers without gaps, so it has none after a number that is missing on
     * both sides.
     */
    mustProve(row) {
        let next = this.high + 1;
        for (const { cseq } of this.outbox) {
            if (cseq > next) return false;
            if (cseq === row.cseq) return true;
            next = Math.max(next, cseq + 1);
        }
        return false;
    }

    /** Starts to send again from the oldest message. */
    rewind() {
        this.sentUpTo = (this.outbox[0]?.cseq ?? this.next) - 1;
    }

    get inFlight() {
        let count = 0;
        for (const { cseq } of this.outbox) {
            if (cseq > this.sentUpTo) break;
            if (!this.verdicts.has(cseq)) count++;
        }
        return count;
    }

    mustResend(now, patience) {
        return this.hasState && this.inFlight > 0 && now - this.waitingSince >= patience;
    }

    /** Updates a read marker, which never goes back. */
    reads(user, seq) {
        if (!(seq > (this.markers.get(user) ?? 0))) return false;
        this.markers.set(user, seq);
        return true;
    }

    types(user, isOn, now) {
        this.#typing.delete(user);
        if (isOn && this.#typing.size < typists) this.#typing.set(user, now + typingLasts);
    }

    forgetTyping(now) {
        const before = this.#typing.size;
        for (const [user, end] of this.#typing) if (end <= now) this.#typing.delete(user);
        return this.#typing.size !== before;
    }

    get typing() {
        return [...this.#typing.keys()];
    }
}
