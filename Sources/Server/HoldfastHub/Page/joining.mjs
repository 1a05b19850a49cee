// Which rooms are asked for and when; and what becomes of a room that keeps all others out.

import { most, pauseOf, times } from "./policy.mjs";
import { codes } from "./protocol.mjs";

export class Joining {
    #desk;
    /** Resumes that have failed in a row; whether the present connection is one, without an answer so far. */
    #failed = 0;
    #isOpen = false;
    /** Whether each room is joined alone, and the one that is. */
    #oneByOne = false;
    #alone = null;
    #foreignDevices = 0;

    constructor(desk) {
        this.#desk = desk;
    }

    /** Somebody has asked for another attempt. */
    forgive() {
        this.#failed = 0;
    }

    get #wanted() {
        return [...this.#desk.rooms.values()].filter((room) => room.phase !== "refused" && (room.isWanted || room.outbox.length > 0));
    }

    /** The rooms to resume within hello. */
    greeting() {
        const rooms = this.#wanted;
        this.#oneByOne = this.#failed >= most.resumes;
        this.#isOpen = !this.#oneByOne && rooms.length > 0;
        return this.#oneByOne ? [] : rooms.slice(0, most.joins).map((room) => room.joins(this.#deadline));
    }

    welcomed() {
        if (this.#oneByOne) this.#joinNextAlone();
        else for (const room of this.#wanted) if (!room.hasState) this.#join(room);
    }

    disconnected() {
        if (this.#isOpen) this.#failed++;
        this.#isOpen = false;
        if (this.#alone !== null) this.#alone.aloneFailures++;
        this.#alone = null;
    }

    /** A room has its state. */
    succeeded(room) {
        this.#isOpen = false;
        room.aloneFailures = 0;
        // As long as there is one that may cost the connection, rooms are joined alone on the next one, too.
        const isLast = this.#wanted.every((other) => other === room || other.hasState || other.rejoinAt < Infinity);
        if (!this.#oneByOne || isLast) this.#failed = 0;
    }

    /** As soon as it is its turn. */
    begin(room) {
        if (this.#oneByOne) this.#joinNextAlone();
        else this.#join(room);
    }

    /** The next page of what is missed. */
    goOn(room) {
        this.#join(room);
    }

    /** Something is missing or makes no sense: fetched again from the cursor, soon or after a pause. */
    again(room, pause = 0) {
        room.isLive = room.hasState = room.isJoining = false;
        room.rejoinAt = pause > 0 ? this.#desk.time.now() + pause : Infinity;
        if (pause === 0) this.#join(room);
        this.#desk.tell("room", { room: room.name });
    }

    /** The hub has refused something of the room that is no message. */
    async refused(room, refusal) {
        const { renewal } = this.#desk;
        // What is full now will have places again: no limit is a verdict.
        if (refusal.code === codes.crowded && refusal.retry !== "reconnect") {
            if (room.isJoining) this.again(room, Math.max(pauseOf(refusal), times.crowded * (1 + this.#desk.random())));
            return this.ended(room);
        }
        // All rights in the room may be gone, or only that to what was said: the answer to another join tells.
        if (refusal.code === codes.rights && !room.isJoining) {
            if (room.isLive) this.again(room, times.pause);
            return;
        }
        // What is malformed or too long is a status or a signal: it says nothing of the room.
        if (refusal.code === codes.malformed || refusal.code === codes.size) return;
        if (refusal.retry === "never") {
            const needsDevice = refusal.code === codes.foreignDevice && !renewal.isProving && this.#foreignDevices < most.foreignDevices;
            await this.#refuse(room, refusal);
            if (!needsDevice) return;
            this.#foreignDevices++;
            return renewal.begin();
        }
        if (refusal.retry === "reconnect") return this.#desk.link.refused(refusal);
        // A refused typ or pres changes nothing about the room.
        if (room.isJoining || refusal.code === codes.notJoined) this.again(room, pauseOf(refusal));
    }

    #refuse(room, refusal) {
        room.disconnected();
        [room.phase, room.refusal] = ["refused", refusal];
        this.#desk.tell("room", { room: room.name });
        this.ended(room);
        return this.#desk.renewal.goOn();
    }

    /** It is live, or refused: the next one may be joined. */
    ended(room) {
        if (this.#alone === room) this.#alone = null;
        if (this.#oneByOne) this.#joinNextAlone();
    }

    tick(now) {
        for (const room of this.#desk.rooms.values()) {
            if (room.isJoining && now >= room.stateDeadline) return this.#desk.link.lost();
            if (room.rejoinAt > now) continue;
            this.#desk.turns.add(() => room.rejoinAt <= this.#desk.time.now() && this.#join(room));
        }
    }

    get #deadline() {
        return this.#desk.time.now() + times.state;
    }

    #join(room) {
        if (!this.#desk.link.isUp || room.isJoining || room.phase === "refused") return;
        this.#desk.link.say({ t: "join", ...room.joins(this.#deadline) });
    }

    #joinNextAlone() {
        if (this.#alone !== null || !this.#desk.link.isUp) return;
        const rooms = this.#wanted.filter((room) => !room.hasState && !room.isJoining && room.rejoinAt === Infinity);
        rooms.sort((a, b) => a.aloneFailures - b.aloneFailures);
        if (rooms.length === 0) return;
        const room = rooms[0];
        if (room.aloneFailures >= most.aloneFailures) return this.#refuse(room, { code: 0, text: "The hub fails at this room." });
        this.#alone = room;
        this.#join(room);
    }
}
