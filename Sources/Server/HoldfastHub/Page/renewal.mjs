// A store that was restored from a backup, a log that was rewound, a device that somebody else has used in a room before us: what is
// proved stored is found out, then the device is renewed.
// A new number for a message that is stored already would double it, so the hub is asked about everything that waits, on a fresh
// connection, before a number is given anew.

import { messageID } from "./identity.mjs";
import { codes, failures } from "./protocol.mjs";

const isForeign = (room) => room.refusal?.code === codes.foreignDevice;

export class Renewal {
    isProving = false;
    #desk;

    constructor(desk) {
        this.#desk = desk;
    }

    begin() {
        if (this.isProving) return this.goOn();
        this.isProving = true;
        for (const room of this.#desk.rooms.values()) {
            room.verdicts.clear();
            if (room.phase === "refused" && room.outbox.length > 0) room.phase = "waiting";
        }
        this.#desk.link.lost();
    }

    /** Takes the number, unless the hub has the message under it, perhaps still on its way to the disk; the ack tells which. */
    probe(room, row) {
        return { t: "pub", room: room.name, cseq: row.cseq, id: (row.probe ??= messageID(this.#desk.time.now())), void: true };
    }

    /** Once there is an answer about all that waits, the rest is numbered anew. */
    async goOn() {
        const { link, rooms, store } = this.#desk;
        if (!this.isProving || !link.isUp) return;
        for (const room of rooms.values()) {
            if (room.outbox.length === 0 || room.phase === "refused") continue;
            if (!room.hasState) return;
            if (room.outbox.some((row) => room.mustProve(row) && !room.verdicts.has(row.cseq))) return;
        }
        const isUncertain = (row) => {
            const room = rooms.get(row.room);
            // Where the device is another's nothing of ours was ever taken.
            return (room?.phase === "refused" && !isForeign(room)) || room?.verdicts.get(row.cseq) === "unknown";
        };
        await store.renew(isUncertain, failures.uncertain);
        this.isProving = false;
        for (const room of rooms.values()) {
            room.verdicts.clear();
            if (room.phase === "refused" && isForeign(room)) [room.phase, room.refusal] = ["waiting", null];
        }
        link.lost();
        await this.#desk.load();
        for (const room of rooms.values()) this.#desk.tell("outbox", { room: room.name });
    }
}
