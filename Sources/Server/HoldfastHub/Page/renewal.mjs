// Handles a store that was restored from a backup, a log that was rewound, and a device that somebody else has used in a room before. It
// finds out which waiting messages are stored, and then gets a new device. A new number for a stored message would duplicate it. So on a
// new connection, the client asks the hub about all waiting messages before it assigns new numbers.

import { messageID } from "./identity.mjs";
import { codes, failures } from "./protocol.mjs";

const isForeign = (room) => room.refusal?.code === codes.foreignDevice;

export class Renewal {
    isProving = false;
    #client;

    constructor(client) {
        this.#client = client;
    }

    begin() {
        if (this.isProving) return this.goOn();
        this.isProving = true;
        for (const room of this.#client.rooms.values()) {
            room.verdicts.clear();
            if (room.phase === "refused" && room.outbox.length > 0) room.phase = "waiting";
        }
        this.#client.link.lost();
    }

    /**
     * Creates a frame that takes the message's number, unless the hub has the message under it, perhaps not on disk yet; the ack shows
     * which.
     */
    probe(room, row) {
        return { t: "pub", room: room.name, cseq: row.cseq, id: (row.probe ??= messageID(this.#client.time.now())), void: true };
    }

    /** When all waiting messages have an answer, assigns new numbers to the rest. */
    async goOn() {
        const { link, rooms, store } = this.#client;
        if (!this.isProving || !link.isUp) return;
        for (const room of rooms.values()) {
            if (room.outbox.length === 0 || room.phase === "refused") continue;
            if (!room.hasState) return;
            if (room.outbox.some((row) => room.mustProve(row) && !room.verdicts.has(row.cseq))) return;
        }
        const isUncertain = (row) => {
            const room = rooms.get(row.room);
            // If the device belongs to somebody else, the hub has never accepted anything of ours.
            return (room?.phase === "refused" && !isForeign(room)) || room?.verdicts.get(row.cseq) === "unknown";
        };
        await store.renew(isUncertain, failures.uncertain);
        this.isProving = false;
        for (const room of rooms.values()) {
            room.verdicts.clear();
            if (room.phase === "refused" && isForeign(room)) [room.phase, room.refusal] = ["waiting", null];
        }
        link.lost();
        await this.#client.load();
        for (const room of rooms.values()) this.#client.tell("outbox", { room: room.name });
    }
}
