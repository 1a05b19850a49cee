// The contiguous copy of a room: entries after the cursor are written together with the cursor in one transaction, and no other entries
// are written.

export class Entries {
    #client;

    constructor(client) {
        this.#client = client;
    }

    /** Processes the answer to a join: the missed entries, or a snapshot that replaces everything. */
    async takeState(room, state) {
        const { link, joining, store } = this.#client;
        const { epoch, from = 1, to, head = 0, items = [], snapshot = false, more = false, high = 0, highId, rights, reads = [], proof } = state;
        if (!room.isJoining) return;
        room.isJoining = false;
        const isNonsense = typeof epoch !== "string" || !Array.isArray(items) || items.some((item, index) => item.seq !== from + index);
        if (isNonsense) return link.lost();
        const mayRead = (rights ?? "").includes("r");
        const isReplaced = mayRead && (snapshot || room.epoch !== epoch);
        const fresh = !mayRead ? [] : isReplaced ? items : items.filter((item) => item.seq > room.seq);
        if (!isReplaced && fresh.length > 0 && fresh[0].seq !== room.seq + 1) return link.lost();
        const { connection } = link;
        const { proved, isForeign } = room.proves(this.#client.device, fresh);
        if (!mayRead) {
            // Its items say nothing about the log.
        } else if (isReplaced) {
            const seq = items.at(-1)?.seq ?? to ?? from - 1;
            await store.replace(room.name, epoch, seq, items, proved, proof);
            room.replaced(epoch, seq, items, proof);
        } else if (fresh.length > 0) {
            await store.append(room.name, epoch, fresh, proved, proof);
            room.appended(fresh, proof);
        } else room.proof = proof ?? room.proof;
        this.#tell(room, isReplaced ? "replaced" : "entries", fresh, proved);
        if (connection !== link.connection) return;
        joining.succeeded(room);
        [room.hasState, room.head, room.rights] = [true, head, rights ?? ""];
        for (const { user, seq } of reads) room.reads(user, seq);
        this.#client.tell("reads", { room: room.name });
        if (more) {
            room.phase = "catchingUp";
            joining.goOn(room);
        } else this.#live(room);
        this.#client.tell("room", { room: room.name });
        room.noteHigh(high);
        return this.#client.outbox.resumed(room, isForeign || room.isDoubtful(high, highId));
    }

    #live(room) {
        room.isLive = true;
        room.phase = "live";
        this.#client.people.joined(room);
        this.#client.joining.ended(room);
    }

    /** Processes live entries: each must follow the cursor, otherwise the rest is dropped. */
    async takeEntries(room, { epoch, items = [], proof }) {
        const { link, joining, store, outbox, renewal } = this.#client;
        if (!room.isLive) return;
        if (epoch !== room.epoch) return joining.again(room);
        const fresh = [];
        let isBroken = false;
        for (const item of items) {
            if (!Number.isSafeInteger(item?.seq)) return link.lost();
            if (item.seq <= room.seq + fresh.length) continue;
            if (item.seq !== room.seq + fresh.length + 1) {
                isBroken = true;
                break;
            }
            fresh.push(item);
        }
        if (fresh.length > 0) {
            const { proved, isForeign } = room.proves(this.#client.device, fresh);
            // The proof is for the last entry of the frame.
            const shown = isBroken ? undefined : proof;
            await store.append(room.name, epoch, fresh, proved, shown);
            room.appended(fresh, shown);
            this.#tell(room, "entries", fresh, proved);
            if (isForeign) return renewal.begin();
            if (proved.length > 0) outbox.progress(room);
        }
        if (isBroken) joining.again(room);
    }

    /** The rows that entries prove to be stored have left the outbox together with them. */
    #tell(room, type, items, proved) {
        const isStored = new Set(proved);
        for (const row of room.outbox) {
            const item = isStored.has(row.cseq) ? items.find(({ cseq, id }) => cseq === row.cseq && id === row.id) : undefined;
            if (item !== undefined) this.#client.tell("stored", { room: room.name, id: row.id, seq: item.seq });
        }
        room.outbox = room.outbox.filter((row) => !isStored.has(row.cseq));
        if (items.length > 0 || type === "replaced") this.#client.tell(type, { room: room.name, items });
        if (isStored.size > 0) this.#client.tell("outbox", { room: room.name });
    }
}
