// Presence, typing, read markers and signals: everything that is not part of a room's log.

import { times } from "./policy.mjs";

export class People {
    #client;

    constructor(client) {
        this.#client = client;
    }

    // Sending.

    /** Sends again what the hub did not get from the earlier connection. */
    joined(room) {
        const { link } = this.#client;
        const known = room.markers.get(link.welcome?.user) ?? 0;
        if (known > room.read) room.read = known;
        else if (room.may("r") && room.read > known) link.say({ t: "read", room: room.name, seq: room.read });
        if (room.wantsPresence && room.may("p") && room.status !== "online") link.say({ t: "pres", room: room.name, status: room.status });
    }

    read(room, seq) {
        if (seq <= room.read) return;
        room.read = seq;
        if (room.isLive && room.may("r")) this.#client.link.say({ t: "read", room: room.name, seq });
        this.#client.turns.add(() => this.#client.store.setRead(room.name, seq)).catch(() => {});
    }

    typing(room, on) {
        if (!room.isLive || !room.may("w")) return;
        const now = this.#client.time.now();
        if (on ? now < room.typingSaid + times.typing : room.typingSaid === -Infinity) return;
        room.typingSaid = on ? now : -Infinity;
        this.#client.link.say({ t: "typ", room: room.name, ...(on && { on }) });
    }

    presence(room, status) {
        if (room.status === status) return;
        room.status = status;
        if (room.isLive && room.wantsPresence && room.may("p")) this.#client.link.say({ t: "pres", room: room.name, status });
    }

    signal(room, type, body) {
        if (room.isLive && room.may("w")) this.#client.link.say({ t: "sig", room: room.name, type, body });
    }

    // Receiving.

    /** Processes an ephemeral frame, which does not wait for stored ones; returns whether the frame was ephemeral. */
    heardInPassing(room, frame) {
        const { link, time } = this.#client;
        switch (frame.t) {
            case "members":
                if (!room.attendance.apply({ version: 0, ...frame })) link.say({ t: "members", room: room.name });
                this.#client.tell("members", { room: room.name });
                return true;
            case "typ":
                if (frame.user !== link.welcome?.user) room.types(frame.user, frame.on === true, time.now());
                this.#client.tell("typing", { room: room.name });
                return true;
            case "sig":
                this.#client.tell("signal", { room: room.name, user: frame.user, conn: frame.conn, type: frame.type, body: frame.body });
                return true;
            default:
                return false;
        }
    }

    async takeRead(room, { user, seq }) {
        if (room.reads(user, seq)) this.#client.tell("reads", { room: room.name });
        if (user !== this.#client.link.welcome?.user || !(seq > room.read)) return;
        room.read = seq;
        await this.#client.store.setRead(room.name, seq);
    }

    tick(now) {
        for (const room of this.#client.rooms.values()) if (room.forgetTyping(now)) this.#client.tell("typing", { room: room.name });
    }
}
