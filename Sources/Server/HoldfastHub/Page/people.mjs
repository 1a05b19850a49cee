// Who is there, who types, how far everybody has read, and signals: what is not part of a room's log.

import { times } from "./policy.mjs";

export class People {
    #desk;

    constructor(desk) {
        this.#desk = desk;
    }

    // What we say.

    /** What the hub did not know of us is told again. */
    joined(room) {
        const { link } = this.#desk;
        const known = room.markers.get(link.welcome?.user) ?? 0;
        if (known > room.read) room.read = known;
        else if (room.may("r") && room.read > known) link.say({ t: "read", room: room.name, seq: room.read });
        if (room.wantsPresence && room.may("p") && room.status !== "online") link.say({ t: "pres", room: room.name, status: room.status });
    }

    read(room, seq) {
        if (seq <= room.read) return;
        room.read = seq;
        if (room.isLive && room.may("r")) this.#desk.link.say({ t: "read", room: room.name, seq });
        this.#desk.turns.add(() => this.#desk.store.setRead(room.name, seq)).catch(() => {});
    }

    typing(room, on) {
        if (!room.isLive || !room.may("w")) return;
        const now = this.#desk.time.now();
        if (on ? now < room.typingSaid + times.typing : room.typingSaid === -Infinity) return;
        room.typingSaid = on ? now : -Infinity;
        this.#desk.link.say({ t: "typ", room: room.name, ...(on && { on }) });
    }

    presence(room, status) {
        if (room.status === status) return;
        room.status = status;
        if (room.isLive && room.wantsPresence && room.may("p")) this.#desk.link.say({ t: "pres", room: room.name, status });
    }

    signal(room, type, body) {
        if (room.isLive && room.may("w")) this.#desk.link.say({ t: "sig", room: room.name, type, body });
    }

    // What we hear.

    /** Whether the frame is one that nobody stores; it waits for nothing that is stored. */
    heardInPassing(room, frame) {
        const { link, time } = this.#desk;
        switch (frame.t) {
            case "members":
                if (!room.attendance.apply({ version: 0, ...frame })) link.say({ t: "members", room: room.name });
                this.#desk.tell("members", { room: room.name });
                return true;
            case "typ":
                if (frame.user !== link.welcome?.user) room.types(frame.user, frame.on === true, time.now());
                this.#desk.tell("typing", { room: room.name });
                return true;
            case "sig":
                this.#desk.tell("signal", { room: room.name, user: frame.user, conn: frame.conn, type: frame.type, body: frame.body });
                return true;
            default:
                return false;
        }
    }

    async takeRead(room, { user, seq }) {
        if (room.reads(user, seq)) this.#desk.tell("reads", { room: room.name });
        if (user !== this.#desk.link.welcome?.user || !(seq > room.read)) return;
        room.read = seq;
        await this.#desk.store.setRead(room.name, seq);
    }

    tick(now) {
        for (const room of this.#desk.rooms.values()) if (room.forgetTyping(now)) this.#desk.tell("typing", { room: room.name });
    }
}
