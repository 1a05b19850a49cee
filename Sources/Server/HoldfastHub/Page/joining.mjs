// Decides which rooms are joined and when, and isolates a room whose join breaks the connection.

import { most, pauseOf, times } from "./policy.mjs";
import { codes } from "./protocol.mjs";

export class Joining {
    #client;
    /** The number of consecutive failed resumes, and whether the current connection is a resume without an answer so far. */
    #failed = 0;
    #isOpen = false;
    /** Whether rooms are joined one by one, and the one that is being joined. */
    #oneByOne = false;
    #alone = null;
    #foreignDevices = 0;

    constructor(client) {
        this.#client = client;
    }

    /** The user has asked for another attempt. */
    forgive() {
        this.#failed = 0;
    }

    get #wanted() {
        return [...this.#client.rooms.values()].filter((room) => room.phase !== "refused" && (room.isWanted || room.outbox.length > 0));
    }

    /** Returns the rooms to resume within hello. */
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

    /** A room has received its state. */
    succeeded(room) {
        this.#isOpen = false;
        room.aloneFailures = 0;
        // As long as one room may break the connection, the next connection also joins the rooms one by one.
        const isLast = this.#wanted.every((other) => other === room || other.hasState || other.rejoinAt < Infinity);
        if (!this.#oneByOne || isLast) this.#failed = 0;
    }

    /** Joins a room when it is its turn. */
    begin(room) {
        if (this.#oneByOne) this.#joinNextAlone();
        else this.#join(room);
    }

    /** Requests the next page of missed entries. */
    goOn(room) {
        this.#join(room);
    }

    /** Something is missing or invalid: fetches it again from the cursor, at once or after a pause. */
    again(room, pause = 0) {
        room.isLive = room.hasState = room.isJoining = false;
        room.rejoinAt = pause > 0 ? this.#client.time.now() + pause : Infinity;
        if (pause === 0) this.#join(room);
        this.#client.tell("room", { room: room.name });
    }

    /** The hub has refused a request for the room that is not a message. */
    async refused(room, refusal) {
        const { renewal } = this.#client;
        // A full hub will have places again, so a limit is not final.
        if (refusal.code === codes.crowded && refusal.retry !== "reconnect") {
            if (room.isJoining) this.again(room, Math.max(pauseOf(refusal), times.crowded * (1 + this.#client.random())));
            return this.ended(room);
        }
        // All rights in the room may be gone, or only the right for the request: the answer to another join shows this.
        if (refusal.code === codes.rights && !room.isJoining) {
            if (room.isLive) this.again(room, times.pause);
            return;
        }
        // Only a status or a signal can be malformed or too long; this says nothing about the room.
        if (refusal.code === codes.malformed || refusal.code === codes.size) return;
        if (refusal.retry === "never") {
            const needsDevice = refusal.code === codes.foreignDevice && !renewal.isProving && this.#foreignDevices < most.foreignDevices;
            await this.#refuse(room, refusal);
            if (!needsDevice) return;
            this.#foreignDevices++;
            return renewal.begin();
        }
        if (refusal.retry === "reconnect") return this.#client.link.refused(refusal);
        // A refused typ or pres changes nothing about the room.
        if (room.isJoining || refusal.code === codes.notJoined) this.again(room, pauseOf(refusal));
    }

    #refuse(room, refusal) {
        room.disconnected();
        [room.phase, room.refusal] = ["refused", refusal];
        this.#client.tell("room", { room: room.name });
        this.ended(room);
        return this.#client.renewal.goOn();
    }

    /** The room is live or refused, so the next one may be joined. */
    ended(room) {
        if (this.#alone === room) this.#alone = null;
        if (this.#oneByOne) this.#joinNextAlone();
    }

    tick(now) {
        for (const room of this.#client.rooms.values()) {
            if (room.isJoining && now >= room.stateDeadline) return this.#client.link.lost();
            if (room.rejoinAt > now) continue;
            this.#client.turns.add(() => room.rejoinAt <= this.#client.time.now() && this.#join(room));
        }
    }

    get #deadline() {
        return this.#client.time.now() + times.state;
    }

    #join(room) {
        if (!this.#client.link.isUp || room.isJoining || room.phase === "refused") return;
        this.#client.link.say({ t: "join", ...room.joins(this.#deadline) });
    }

    #joinNextAlone() {
        if (this.#alone !== null || !this.#client.link.isUp) return;
        const rooms = this.#wanted.filter((room) => !room.hasState && !room.isJoining && room.rejoinAt === Infinity);
        rooms.sort((a, b) => a.aloneFailures - b.aloneFailures);
        if (rooms.length === 0) return;
        const room = rooms[0];
        if (room.aloneFailures >= most.aloneFailures) return this.#refuse(room, { code: 0, text: "The hub fails for this room." });
        this.#alone = room;
        this.#join(room);
    }
}
