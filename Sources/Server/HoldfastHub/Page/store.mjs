// The stored state of a client: its device, cursors, entries and outbox. Each change is one transaction, and is written completely or not
// at all. The rules are written once, over a key-value backend: IndexedDB in a page, or plain maps if nothing has to last.

import { hexadecimal } from "./identity.mjs";

const tables = ["meta", "rooms", "entries", "outbox", "failed"];
/** The number of entries that are kept of a room. */
const kept = 5_000;
const version = 1;

/** The store has another part of the room than the writer expects, because somebody else has written to it. */
export class StaleError extends Error {}

export class Store {
    #backend;

    constructor(backend) {
        this.#backend = backend;
    }

    /** Loads everything except the entries. A new store gets its device here. */
    load() {
        return this.#write(["meta", "rooms", "outbox", "failed"], async (tx) => {
            let device = await tx.get("meta", "device");
            if (device === undefined) await tx.put("meta", "device", (device = hexadecimal(16)));
            const [rooms, outbox, failed] = [await tx.all("rooms"), await tx.all("outbox"), await tx.all("failed")];
            return { device, offset: (await tx.get("meta", "offset")) ?? 0, rooms, outbox, failed };
        });
    }

    /** Stores how far the hub's clock is ahead of the local one. */
    setOffset(offset) {
        return this.#write(["meta"], (tx) => tx.put("meta", "offset", offset));
    }

    /** Adds a message to the outbox, and assigns its number in the same transaction. */
    enqueue(room, message) {
        return this.#write(["rooms", "outbox"], async (tx) => {
            const record = await recordOf(tx, room);
            const row = { ...message, room, cseq: record.next, state: "queued" };
            await tx.put("outbox", [room, row.cseq], row);
            await tx.put("rooms", room, { ...record, next: record.next + 1 });
            return row;
        });
    }

    /**
     * Writes entries after the cursor, the hub's proof of the last one, and which messages they prove to be stored, in one transaction.
     */
    append(room, epoch, items, proved, proof = "") {
        return this.#write(["rooms", "entries", "outbox"], async (tx) => {
            const record = await recordOf(tx, room);
            if (record.epoch !== epoch || record.seq + 1 !== items[0].seq) throw new StaleError(`${room} is at ${record.seq}`);
            for (const item of items) await tx.put("entries", [room, item.seq], item);
            const seq = items.at(-1).seq;
            const first = Math.max(record.first, seq - kept + 1);
            if (first > record.first) await tx.deleteRange("entries", room, record.first, first - 1);
            for (const cseq of proved) await tx.delete("outbox", [room, cseq]);
            await tx.put("rooms", room, { ...record, seq, first, proof });
        });
    }

    /** Replaces everything with a snapshot. A read marker is only valid within its epoch, as long as it does not go back. */
    replace(room, epoch, seq, items, proved, proof = "") {
        return this.#write(["rooms", "entries", "outbox"], async (tx) => {
            const record = await recordOf(tx, room);
            await tx.deleteRange("entries", room, 0, Number.MAX_SAFE_INTEGER);
            for (const item of items) await tx.put("entries", [room, item.seq], item);
            for (const cseq of proved) await tx.delete("outbox", [room, cseq]);
            const read = record.epoch === epoch && seq >= record.seq ? record.read : 0;
            await tx.put("rooms", room, { ...record, epoch, seq, first: items[0]?.seq ?? seq + 1, read, proof });
        });
    }

    /** Writes older entries if they are contiguous with the stored ones. Returns the number of the first stored entry then. */
    prepend(room, epoch, items) {
        return this.#write(["rooms", "entries"], async (tx) => {
            const record = await recordOf(tx, room);
            const touches = record.epoch === epoch && items.at(-1)?.seq === record.first - 1;
            if (!touches || items[0].seq <= record.seq - kept) return record.first;
            for (const item of items) await tx.put("entries", [room, item.seq], item);
            await tx.put("rooms", room, { ...record, first: items[0].seq });
            return items[0].seq;
        });
    }

    /** Returns the last stored entries below a number, in order. */
    entries(room, before, limit) {
        return this.#backend.transaction(["entries"], false, (tx) => tx.last("entries", room, before - 1, limit));
    }

    /** Removes the rows that are stored by the hub from the outbox, and updates the changed ones, which are given completely. */
    settle(room, { removed = [], changed = [], failed = [] }) {
        return this.#write(["outbox", "failed"], async (tx) => {
            for (const cseq of removed) await tx.delete("outbox", [room, cseq]);
            for (const row of changed) await tx.put("outbox", [room, row.cseq], row);
            for (const row of failed) {
                await tx.delete("outbox", [room, row.cseq]);
                await tx.put("failed", [room, row.id], { ...row, state: "failed" });
            }
        });
    }

    /** Gives a failed message a new number: its old number is voided, so the message cannot be stored twice. */
    retry(room, id, at) {
        return this.#write(["rooms", "outbox", "failed"], async (tx) => {
            const message = await tx.get("failed", [room, id]);
            if (message === undefined) return undefined;
            const record = await recordOf(tx, room);
            const { failure, ...rest } = message;
            const row = { ...rest, at, cseq: record.next, state: "queued" };
            await tx.delete("failed", [room, id]);
            await tx.put("outbox", [room, row.cseq], row);
            await tx.put("rooms", room, { ...record, next: record.next + 1 });
            return row;
        });
    }

    discard(room, id) {
        return this.#write(["failed"], (tx) => tx.delete("failed", [room, id]));
    }

    /** Writes failed messages of another store. */
    adopt(messages) {
        return this.#write(["failed"], async (tx) => {
            for (const message of messages) await tx.put("failed", [message.room, message.id], message);
        });
    }

    /** Stores the own read marker. */
    setRead(room, seq) {
        return this.#write(["rooms"], async (tx) => {
            const record = await recordOf(tx, room);
            if (seq > record.read) await tx.put("rooms", room, { ...record, read: seq });
        });
    }

    /**
     * Gets a new device, for which the waiting messages are numbered from 1.
     * `isUncertain`: returns whether a row may have been stored under its old number; such a row is not sent again automatically.
     */
    renew(isUncertain, uncertain) {
        return this.#write(["meta", "rooms", "outbox", "failed"], async (tx) => {
            await tx.put("meta", "device", hexadecimal(16));
            const next = new Map();
            for (const row of await tx.all("outbox")) {
                await tx.delete("outbox", [row.room, row.cseq]);
                const failure = row.state === "burning" ? row.failure : isUncertain(row) ? uncertain : undefined;
                if (failure !== undefined) {
                    await tx.put("failed", [row.room, row.id], { ...row, state: "failed", failure });
                    continue;
                }
                const cseq = next.get(row.room) ?? 1;
                next.set(row.room, cseq + 1);
                await tx.put("outbox", [row.room, cseq], { ...row, cseq });
            }
            for (const record of await tx.all("rooms")) {
                await tx.put("rooms", record.room, { ...record, next: next.get(record.room) ?? 1 });
            }
        });
    }

    close() {
        this.#backend.close();
    }

    #write(stores, work) {
        return this.#backend.transaction(stores, true, work);
    }
}

async function recordOf(tx, room) {
    return (await tx.get("rooms", room)) ?? { room, epoch: "", seq: 0, first: 1, next: 1, read: 0, proof: "" };
}

/** Keeps everything as long as the page lives. */
export class MemoryBackend {
    #tables = Object.fromEntries(tables.map((name) => [name, new Map()]));
    #last = Promise.resolve();

    /** Resolves when everything that the work wrote is stored; otherwise nothing is stored. */
    transaction(_, __, work) {
        const result = this.#last.then(async () => {
            const tx = new MemoryTransaction(this.#tables);
            const value = await work(tx);
            await this.beforeCommit?.();
            tx.commit();
            return value;
        });
        this.#last = result.catch(() => {});
        return result;
    }

    close() {}
}

class MemoryTransaction {
    #tables;
    #writes = [];

    constructor(tables) {
        this.#tables = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, { table, changed: new Map() }]));
    }

    commit() {
        for (const write of this.#writes) write();
    }

    async get(name, key) {
        const { table, changed } = this.#tables[name];
        const text = JSON.stringify(key);
        return structuredClone((changed.get(text) ?? table.get(text))?.value);
    }

    async put(name, key, value) {
        this.#set(name, key, structuredClone(value));
    }

    async delete(name, key) {
        this.#set(name, key, undefined);
    }

    async deleteRange(name, room, from, to) {
        for (const { key } of this.#sorted(name)) if (key[0] === room && key[1] >= from && key[1] <= to) this.#set(name, key, undefined);
    }

    async all(name) {
        return this.#sorted(name).map(({ value }) => structuredClone(value));
    }

    async last(name, room, to, limit) {
        const found = this.#sorted(name).filter(({ key }) => key[0] === room && key[1] <= to);
        return found.slice(-limit).map(({ value }) => structuredClone(value));
    }

    #set(name, key, value) {
        const text = JSON.stringify(key);
        const { table, changed } = this.#tables[name];
        changed.set(text, { key, value });
        this.#writes.push(() => (value === undefined ? table.delete(text) : table.set(text, { key, value })));
    }

    #sorted(name) {
        const { table, changed } = this.#tables[name];
        const merged = [...new Map([...table, ...changed]).values()].filter(({ value }) => value !== undefined);
        return merged.sort((a, b) => indexedOrder(a.key, b.key));
    }
}

function indexedOrder(a, b) {
    if (!Array.isArray(a)) return a < b ? -1 : 1;
    if (a[0] !== b[0]) return a[0] < b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0;
}

/** Keeps everything in IndexedDB, where a transaction counts only when it is on disk. */
export class IndexedBackend {
    #database;

    constructor(database) {
        this.#database = database;
        // Another version of this page wants to change the database, and must not wait for this page.
        database.onversionchange = () => database.close();
    }

    static async open(name) {
        const request = indexedDB.open(name, version);
        request.onupgradeneeded = () => {
            for (const table of tables) request.result.createObjectStore(table);
        };
        return new IndexedBackend(await answer(request));
    }

    async transaction(stores, isWriting, work) {
        const transaction = this.#database.transaction(stores, isWriting ? "readwrite" : "readonly", { durability: "strict" });
        const end = new Promise((done, fail) => {
            transaction.oncomplete = done;
            transaction.onabort = transaction.onerror = () => fail(transaction.error ?? new Error("the transaction was aborted"));
        });
        try {
            const value = await work(new IndexedTransaction(transaction));
            await end;
            return value;
        } catch (error) {
            end.catch(() => {});
            try {
                transaction.abort();
            } catch {
                // The transaction has already ended.
            }
            throw error;
        }
    }

    close() {
        this.#database.close();
    }
}

class IndexedTransaction {
    #transaction;

    constructor(transaction) {
        this.#transaction = transaction;
    }

    get(name, key) {
        return answer(this.#table(name).get(key));
    }

    put(name, key, value) {
        return answer(this.#table(name).put(value, key));
    }

    delete(name, key) {
        return answer(this.#table(name).delete(key));
    }

    deleteRange(name, room, from, to) {
        return answer(this.#table(name).delete(IDBKeyRange.bound([room, from], [room, to])));
    }

    all(name) {
        return answer(this.#table(name).getAll());
    }

    last(name, room, to, limit) {
        return new Promise((done, fail) => {
            const found = [];
            const request = this.#table(name).openCursor(IDBKeyRange.bound([room, 0], [room, to]), "prev");
            request.onerror = () => fail(request.error);
            request.onsuccess = () => {
                const cursor = request.result;
                if (cursor !== null) found.push(cursor.value);
                if (cursor === null || found.length >= limit) done(found.reverse());
                else cursor.continue();
            };
        });
    }

    #table(name) {
        return this.#transaction.objectStore(name);
    }
}

function answer(request) {
    return new Promise((done, fail) => {
        request.onsuccess = () => done(request.result);
        request.onerror = () => fail(request.error);
    });
}
